// SPDX-License-Identifier: GPL-2.0-or-later
// A trace, and its events block by block.
#include <algorithm>
#include <memory>
#include <mutex>
#include <optional>
#include <span>

#include <pybind11/stl.h>

#include "python/core/arrays.h"
#include "python/core/arrow.h"
#include "python/core/core.h"
#include "python/core/open_trace.h"
#include "python/core/options.h"
#include "replayer/run/run_directory.h"

namespace fencepost::python {

namespace {

using trace::Event;

// The layout of trace::Event. Addresses are signed, as in SQL: NumPy makes floats of unsigned ones.
py::dtype event_type()
{
    const auto field = [](const char *name, const char *format, std::size_t offset) {
        return py::make_tuple(name, format, offset);
    };
    const py::tuple fields[] = {
        field("address", "i8", offsetof(Event, address)),
        field("value", "u8", offsetof(Event, value)),
        field("site", "u4", offsetof(Event, site)),
        field("stack", "u4", offsetof(Event, stack)),
        field("kind", "u1", offsetof(Event, kind)),
        field("subkind", "u1", offsetof(Event, subkind)),
        field("size", "u1", offsetof(Event, size)),
        field("flags", "u1", offsetof(Event, flags)),
        field("vcpu", "u2", offsetof(Event, vcpu)),
    };
    py::list names;
    py::list formats;
    py::list offsets;
    for (const py::tuple &each : fields) {
        names.append(each[0]);
        formats.append(each[1]);
        offsets.append(each[2]);
    }
    return py::dtype(names, formats, offsets, sizeof(Event));
}

trace::EventFilter filter_of(const Options &options)
{
    trace::EventFilter filter = {.sites = options.optional<std::vector<std::uint32_t>>("sites"),
                                 .vcpus = options.optional<std::vector<std::uint16_t>>("vcpus")};
    options.take("first_seq", filter.first_seq);
    options.take("last_seq", filter.last_seq);
    options.take("values", filter.with_values);
    if (const auto kinds = options.optional<std::vector<std::string>>("kinds")) {
        filter.kinds = 0;
        for (const std::string &name : *kinds) {
            unsigned kind = 0;
            while (kind < trace::kEventKinds &&
                   name_of(static_cast<trace::EventKind>(kind)) != name)
                ++kind;
            if (kind == trace::kEventKinds)
                fail(ErrorKind::usage, "there is no kind of event '{}'", name);
            filter.kinds |= trace::kind_bit(static_cast<trace::EventKind>(kind));
        }
    }
    if (const auto lines = options.optional<std::vector<std::uint64_t>>("lines")) {
        filter.lines.emplace();
        for (const std::uint64_t line : *lines)
            filter.lines->push_back({line, line});
    }
    return filter;
}

// What a scan has found in one block.
struct FoundBlock {
    std::uint64_t first_seq = 0;
    trace::OpenedBlock block;
    std::optional<std::vector<std::uint32_t>> selected; // none: all
};

// Goes through blocks on a connection of its own. Needs no GIL, which another thread that is in
// here may wait for.
class BlockScan {
public:
    BlockScan(const OpenTrace &trace, const trace::EventFilter &filter)
        : trace_(trace.shared()), reader_(std::make_unique<trace::TraceReader>(trace.path())),
          scan_(reader_->scan(filter)), with_values_(filter.with_values)
    {
    }

    void check_open() const { trace_->check_open(); }
    bool with_values() const { return with_values_; }
    std::optional<FoundBlock> next()
    {
        const std::lock_guard lock(mutex_);
        check_open();
        if (ended_ || !scan_.next()) {
            ended_ = true;
            return std::nullopt;
        }
        FoundBlock found = {.first_seq = scan_.first_seq(), .block = {}, .selected = {}};
        if (!scan_.all_selected())
            found.selected.emplace(scan_.selected().begin(), scan_.selected().end());
        found.block = scan_.take();
        return found;
    }

private:
    std::shared_ptr<const OpenTrace::State> trace_;
    std::unique_ptr<trace::TraceReader> reader_;
    trace::EventScan scan_;
    bool with_values_;
    std::mutex mutex_;
    bool ended_ = false;
};

class PyBlocks {
public:
    PyBlocks(const OpenTrace &trace, const trace::EventFilter &filter) : event_type_(event_type())
    {
        const py::gil_scoped_release release;
        scan_ = std::make_shared<BlockScan>(trace, filter);
    }

    // (first_seq, events, indexes of those that match or None for all, bytes of wide stores), or
    // None at the end. Arrays keep their memory.
    py::object next()
    {
        std::optional<FoundBlock> found;
        {
            const py::gil_scoped_release release;
            found = scan_->next();
        }
        if (!found)
            return py::none();
        py::object indexes = py::none();
        if (found->selected)
            indexes = array_of(std::move(*found->selected));
        return py::make_tuple(found->first_seq,
                              array_of(std::move(found->block.events), event_type_), indexes,
                              array_of(std::move(found->block.wide_values), byte_type_));
    }

    // The blocks that are left, one batch each. It may end without the GIL: nothing of Python in
    // it.
    py::capsule arrow_stream(const py::object &) const
    {
        scan_->check_open();
        return arrow::stream_capsule(arrow::event_fields(scan_->with_values()),
                                     [scan = scan_]() -> std::optional<arrow::Values> {
                                         const auto found = scan->next();
                                         if (!found)
                                             return std::nullopt;
                                         return arrow::event_values(
                                             found->first_seq, found->block.events, found->selected,
                                             found->block.wide_values, scan->with_values());
                                     });
    }

private:
    std::shared_ptr<BlockScan> scan_;
    py::dtype event_type_;
    py::dtype byte_type_ = py::dtype::of<std::uint8_t>();
};

template <typename T> std::span<const T> span_of(const py::array &array, const py::dtype &type)
{
    constexpr int wanted = int{py::array::c_style} | int{py::detail::npy_api::NPY_ARRAY_ALIGNED_};
    if (!array.dtype().equal(type) || array.ndim() != 1 || (array.flags() & wanted) != wanted)
        throw py::type_error("this is no array of a block");
    return {static_cast<const T *>(array.data()), static_cast<std::size_t>(array.size())};
}

// Of arrays that Python may have changed since they were read.
py::tuple block_arrow(std::uint64_t first_seq, const py::array &events,
                      const std::optional<py::array> &selected, const py::array &wide_values)
{
    const auto its = span_of<Event>(events, event_type());
    std::optional<std::span<const std::uint32_t>> indexes;
    if (selected)
        indexes = span_of<std::uint32_t>(*selected, py::dtype::of<std::uint32_t>());
    const auto bytes = span_of<std::byte>(wide_values, py::dtype::of<std::uint8_t>());
    const auto is_event = [](const Event &event) {
        return static_cast<unsigned>(event.kind) < trace::kEventKinds &&
               event.subkind < trace::subkind_count(event.kind) &&
               event.size <= trace::kMaxStoreBytes;
    };
    if (!std::ranges::all_of(its, is_event) ||
        (indexes && std::ranges::any_of(*indexes, [&](auto index) { return index >= its.size(); })))
        throw py::value_error("the arrays of this block are no events any more");
    return arrow::array_capsules(arrow::event_fields(true),
                                 arrow::event_values(first_seq, its, indexes, bytes, true));
}

py::dict recording_of(const OpenTrace &trace)
{
    const trace::Recording &recording = trace.recording();
    py::dict result;
    result["state"] = name_of(recording.state);
    result["event_count"] = recording.event_count;
    result["event_digest"] = recording.event_digest;
    result["effect_digest"] = recording.effect_digest;
    result["outcome"] = recording.outcome;
    return result;
}

// Names by number: of kinds, and of the subkinds of each.
py::list kind_names()
{
    py::list kinds;
    for (unsigned kind = 0; kind < trace::kEventKinds; ++kind) {
        const auto each = static_cast<trace::EventKind>(kind);
        py::list subkinds;
        for (unsigned subkind = 0; subkind < trace::subkind_count(each); ++subkind)
            subkinds.append(trace::subkind_name(each, static_cast<std::uint8_t>(subkind)));
        kinds.append(py::make_tuple(name_of(each), subkinds));
    }
    return kinds;
}

} // namespace

void add_trace(py::module_ &module)
{
    py::class_<OpenTrace>(module, "OpenTrace")
        .def(py::init([](const std::string &path) {
            return long_call([&] { return std::make_unique<OpenTrace>(run::trace_of(path)); });
        }))
        .def_property_readonly("path", [](const OpenTrace &trace) { return trace.path().string(); })
        .def_property_readonly("closed", &OpenTrace::closed)
        .def_property_readonly("recording", recording_of)
        .def("close", &OpenTrace::close, py::call_guard<py::gil_scoped_release>())
        .def("blocks", [](const OpenTrace &trace, py::dict options) {
            trace.shared()->check_open();
            return std::make_unique<PyBlocks>(trace, filter_of(Options(std::move(options))));
        });
    py::class_<PyBlocks>(module, "Blocks")
        .def("next", &PyBlocks::next)
        .def("arrow", &PyBlocks::arrow_stream, py::arg("requested_schema"));
    module.def("block_arrow", block_arrow, py::arg("first_seq"), py::arg("events"),
               py::arg("selected"), py::arg("wide_values"));
    module.def("event_type", event_type);
    module.def("kind_names", kind_names);
}

} // namespace fencepost::python
