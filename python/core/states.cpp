// SPDX-License-Identifier: GPL-2.0-or-later
// Crash states of a run without guests: lists, what is in one, and its image as bytes.
#include <cstring>

#include <nlohmann/json.hpp>
#include <pybind11/numpy.h>

#include "base/error.h"
#include "python/core/arrays.h"
#include "python/core/own.h"
#include "python/core/verb.h"
#include "replayer/image/image_export.h"
#include "replayer/image/image_index.h"
#include "replayer/image/image_walk.h"
#include "replayer/image/state_contents.h"
#include "replayer/image/state_delta.h"
#include "replayer/report/states_json.h"
#include "replayer/run/inputs.h"
#include "replayer/run/interrupted.h"
#include "replayer/run/run_directory.h"
#include "replayer/states/trace_options.h"
#include "replayer/states/walk_names.h"

namespace fencepost::python {

states::WalkOptions walk_options(const Options &options)
{
    states::WalkNames names = {.strategy = "count"};
    options.take("model", names.model);
    options.take("fences", names.fences);
    options.take("seed", names.seed);
    options.take("group", names.group);
    return states::walk_options(names);
}

namespace {

using nlohmann::json;

// One run for one question.
struct Opened {
    Opened(const std::string &run, const std::vector<std::string> &incidental)
        : reader(run::trace_of(run)), initial(reader)
    {
        run::refuse_interrupted(reader);
        functions =
            incidental.empty() ? run::load_incidental({reader.path().parent_path()}) : incidental;
    }

    image::ImageDelta delta(const std::string &id) const
    {
        return image::delta_of(reader, initial, states::parse_crash_state(id), fences());
    }
    trace::IncidentalFences fences() const
    {
        return {reader, trace::incidental_functions(functions)};
    }

    const trace::TraceReader reader;
    const image::InitialImage initial;
    std::vector<std::string> functions;
};

class Listing : public image::ImageListener {
public:
    Listing(std::uint64_t limit, Callback &told) : limit_(limit), told_(told) {}

    bool image(image::ReadyImage &image) override
    {
        const std::string id = image.id();
        const bool architectural = image.architectural();
        const auto added = index_.add(image.identity(), 0, {image.point().seq, id, architectural});
        seen.new_images += added.is_new;
        rows.push_back(collect::state_row(image, id, architectural, added));
        if (rows.size() % kTold == 0)
            told_([&] {
                py::dict numbers;
                numbers["states"] = rows.size();
                return py::make_tuple("listing: " + std::to_string(rows.size()) + " states",
                                      numbers);
            });
        return rows.size() < limit_;
    }
    void epoch(const states::EpochCount &epoch) override { seen.add(epoch); }

    json rows = json::array();
    collect::StatesSeen seen;

private:
    static constexpr std::size_t kTold = 4096;

    const std::uint64_t limit_;
    Callback &told_;
    image::ImageIndex index_;
};

auto list_states(const std::string &run, const Options &options, Callback &told)
{
    states::WalkOptions walk = walk_options(options);
    walk.strategies = strategies(options, told);
    const std::uint64_t limit = options.optional<std::uint64_t>("limit").value_or(UINT64_MAX);
    if (limit == 0)
        fail(ErrorKind::usage, "a limit of 0 would list nothing");
    return [run, walk, limit, window = options.text("window"), after = options.text("after"),
            incidental = options.optional<std::vector<std::string>>("incidental")
                             .value_or(std::vector<std::string>()),
            &told] {
        const StopsUserCode stops(told);
        const Opened opened(run, incidental);
        states::WalkOptions chosen =
            states::in_trace(walk, opened.reader, window, opened.functions);
        if (!after.empty())
            chosen.after = states::parse_crash_state(after);
        Listing listing(limit, told);
        listing.seen.wants_epochs = true;
        image::ImageWalk images(opened.reader, opened.initial, chosen, {.labels = true});
        const states::WalkReport report = images.run(listing);
        return json({{"states", std::move(listing.rows)},
                     {"summary", collect::states_summary(chosen, report, listing.seen)},
                     {"each_epoch", std::move(listing.seen.epochs)}});
    };
}

struct OneState {
    OneState(const Options &options)
        : id(options.text("state")),
          incidental(options.optional<std::vector<std::string>>("incidental")
                         .value_or(std::vector<std::string>()))
    {
    }

    std::string id;
    std::vector<std::string> incidental;
};

auto state_contents(const std::string &run, const Options &options, Callback &)
{
    return [run, state = OneState(options)] {
        const Opened opened(run, state.incidental);
        return collect::state_contents(opened.reader, opened.initial,
                                       image::contents_of(opened.reader, opened.initial,
                                                          states::parse_crash_state(state.id),
                                                          opened.fences()));
    };
}

auto export_state(const std::string &run, const Options &options, Callback &)
{
    return [run, state = OneState(options), file = options.text("file"),
            overwrite =
                options.optional<bool>("force").value_or(false) ? Overwrite::yes : Overwrite::no] {
        const Opened opened(run, state.incidental);
        image::check_export(file, opened.reader.regions().size(), overwrite);
        json made = json::array();
        for (const auto &path :
             image::export_image(file, opened.initial, opened.delta(state.id), overwrite))
            made.push_back(path.string());
        return made;
    };
}

// The changed lines: numbers, what they held at first, and what they hold; and all of it as an
// image.delta.
py::tuple state_lines(const std::string &run, const std::string &id,
                      const std::vector<std::string> &incidental)
{
    constexpr std::size_t kLine = trace::kLineBytes;
    std::vector<std::uint64_t> numbers;
    std::vector<std::uint8_t> before;
    std::vector<std::uint8_t> after;
    const image::ImageDelta delta = long_call([&] {
        const Opened opened(run, incidental);
        image::ImageDelta made = opened.delta(id);
        image::PmCopy initial(opened.initial);
        before.resize(made.lines.size() * kLine);
        after.resize(made.lines.size() * kLine);
        for (const image::LineContent &each : made.lines) {
            std::memcpy(before.data() + numbers.size() * kLine, initial.line(each.line), kLine);
            std::memcpy(after.data() + numbers.size() * kLine, each.bytes.data(), kLine);
            numbers.push_back(each.line);
        }
        return made;
    });
    const std::vector<std::byte> encoded = image::encode_delta(delta);
    return py::make_tuple(
        array_of(std::move(numbers)), array_of(std::move(before)), array_of(std::move(after)),
        py::bytes(reinterpret_cast<const char *>(encoded.data()), encoded.size()));
}

// (name, address, bytes) of each region.
py::list state_image(const std::string &run, const std::string &id,
                     const std::vector<std::string> &incidental)
{
    std::optional<Opened> opened;
    std::optional<image::PmCopy> contents;
    long_call([&] {
        opened.emplace(run, incidental);
        contents.emplace(opened->initial);
        for (const image::LineContent &each : opened->delta(id).lines)
            std::memcpy(contents->line(each.line), each.bytes.data(), trace::kLineBytes);
    });
    py::list regions;
    for (std::size_t i = 0; i < opened->initial.regions().size(); ++i) {
        const std::span<std::byte> bytes = contents->region(i);
        regions.append(
            py::make_tuple(opened->initial.regions()[i].name, opened->initial.regions()[i].base,
                           py::bytes(reinterpret_cast<const char *>(bytes.data()), bytes.size())));
    }
    return regions;
}

} // namespace

void add_states(py::module_ &module)
{
    add_verb<list_states>(module, "list_states");
    add_verb<state_contents>(module, "state_contents");
    add_verb<export_state>(module, "export_state");
    module.def("state_lines", state_lines, py::arg("run"), py::arg("state"), py::arg("incidental"));
    module.def("state_image", state_image, py::arg("run"), py::arg("state"), py::arg("incidental"));
}

} // namespace fencepost::python
