// SPDX-License-Identifier: GPL-2.0-or-later
// Oracles that are Python functions: what they are given, and what becomes of their answers.
#include <cerrno>
#include <cstring>

#include <nlohmann/json.hpp>

#include "base/json.h"
#include "python/core/guest_calls.h"
#include "python/core/own.h"

namespace fencepost::python {

using oracle::GuestVisit;

namespace {

constexpr const char *kTypes[] = {"file",   "directory", "symlink", "fifo",
                                  "socket", "character", "block",   "unknown"};

// A guest for as long as its oracle runs.
class Visit {
    // First: their results are deduced.
    GuestVisit &guest()
    {
        if (!guest_)
            fail(ErrorKind::usage, "the guest is there only while its oracle runs");
        return *guest_;
    }

    template <typename Ask> static auto without_gil(Ask &&ask)
    {
        const py::gil_scoped_release release;
        return ask();
    }

    // What the guest refuses is an OSError, as if it had been asked for here.
    template <typename Ask> static auto ask(const std::string &what, Ask &&ask)
    {
        auto answer = without_gil(std::forward<Ask>(ask));
        if (const auto *failure = std::get_if<agent::Failure>(&answer)) {
            const py::tuple words =
                py::make_tuple(failure->error_number, std::strerror(failure->error_number), what);
            PyErr_SetObject(PyExc_OSError, words.ptr());
            throw py::error_already_set();
        }
        return std::get<0>(std::move(answer));
    }

public:
    explicit Visit(GuestVisit &guest) : guest_(&guest) {}

    void end() { guest_ = nullptr; }

    py::dict run(const std::vector<std::string> &command, const std::string &directory,
                 const std::map<std::string, std::string> &environment, const std::string &input,
                 std::optional<double> seconds)
    {
        return run_result(ask(command.empty() ? "" : command[0], [&] {
            return guest().run(run_request(command, directory, environment, input, seconds));
        }));
    }
    py::bytes read(const std::string &path)
    {
        no_zero(path, "the path");
        return py::bytes(ask(path, [&] { return guest().read(path); }));
    }
    void write(const std::string &path, const std::string &data)
    {
        no_zero(path, "the path");
        ask(path, [&] { return guest().write(path, data); });
    }
    py::list tree()
    {
        const agent::TreeDump dump = without_gil([&] { return guest().tree(); });
        py::list entries;
        for (const agent::TreeEntry &each : dump.entries)
            entries.append(entry(each));
        return entries;
    }
    std::string root() { return guest().root(); }
    std::uint64_t crash_seq() { return guest().crash_seq(); }
    bool crashed() { return guest().crashed(); }
    // (returned, in progress, checkpoint) of (number, text); None: it did not ask.
    py::object progress()
    {
        const oracle::Progress *now = guest().progress;
        if (!now)
            return py::none();
        const auto one = [](const std::optional<oracle::ProgressStep> &step) -> py::object {
            return step ? py::object(py::make_tuple(step->number, step->text)) : py::none();
        };
        py::list open;
        for (const oracle::ProgressStep &each : now->in_progress)
            open.append(py::make_tuple(each.number, each.text));
        return py::make_tuple(one(now->returned), open, one(now->checkpoint));
    }

private:
    static py::tuple entry(const agent::TreeEntry &each)
    {
        py::dict attributes;
        for (const agent::TreeAttribute &attribute : each.attributes)
            attributes[py::str(attribute.name)] = py::bytes(attribute.value);
        return py::make_tuple(py::bytes(each.path), kTypes[static_cast<unsigned>(each.type)],
                              each.size, each.mode, each.user, each.group, each.link_count,
                              each.inode, py::bytes(each.target), attributes,
                              py::bytes(each.block_hashes), each.failed_step, each.error_number);
    }

    GuestVisit *guest_;
};

std::optional<oracle::OwnObjection> judge(py::handle function, Callback &user, GuestVisit &guest)
{
    using Answer = std::optional<oracle::OwnObjection>;
    const auto visit = std::make_shared<Visit>(guest);
    return user.call(
        [&]() -> Answer {
            py::object said;
            try {
                said = function(visit);
            } catch (...) {
                visit->end();
                throw;
            }
            visit->end();
            if (said.is_none())
                return std::nullopt;
            const auto [text, details] = said.cast<std::pair<std::string, std::string>>();
            nlohmann::json told = json_or_discarded(details);
            if (told.is_discarded())
                told = {{"said", text}};
            return oracle::OwnObjection{text, oracle::Details(std::move(told))};
        },
        [&] { return guest.gone(); });
}

} // namespace

oracle::OwnOracles own_oracles(const Options &options, Callback &user)
{
    using Given = std::tuple<std::string, std::string, bool, py::object>;
    oracle::OwnOracles own;
    for (const Given &each :
         options.optional<std::vector<Given>>("own_oracles").value_or(std::vector<Given>())) {
        const py::handle function = std::get<3>(each);
        own.push_back(
            {std::get<0>(each), std::get<1>(each), std::get<2>(each),
             [function, &user](GuestVisit &guest) { return judge(function, user, guest); }});
    }
    return own;
}

void add_visit(py::module_ &module)
{
    py::class_<Visit, std::shared_ptr<Visit>>(module, "Visit")
        .def("run", &Visit::run, py::arg("command"), py::arg("directory"), py::arg("environment"),
             py::arg("input"), py::arg("seconds"))
        .def("read", &Visit::read, py::arg("path"))
        .def("write", &Visit::write, py::arg("path"), py::arg("data"))
        .def("tree", &Visit::tree)
        .def_property_readonly("root", &Visit::root)
        .def_property_readonly("crash_seq", &Visit::crash_seq)
        .def_property_readonly("crashed", &Visit::crashed)
        .def_property_readonly("progress", &Visit::progress);
}

} // namespace fencepost::python
