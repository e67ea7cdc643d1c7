// SPDX-License-Identifier: GPL-2.0-or-later
// `fencepost states --show` and `--export`: one state.
#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include "base/terminal_text.h"
#include "cli/states_verb.h"
#include "replayer/image/image_export.h"
#include "replayer/image/state_delta.h"
#include "replayer/report/states_json.h"

namespace fencepost::cli {

namespace {

using nlohmann::json;

trace::IncidentalFences fences_of(const trace::TraceReader &reader, const Incidental &incidental)
{
    return {reader, trace::incidental_functions(incidental)};
}

void print_run(const json &run)
{
    const std::string part = run["part"];
    fmt::print("item {} (run): ", run["item"].get<std::uint64_t>());
    if (part == "first_pieces")
        fmt::print("the first piece of every unit of {} lines\n", run["lines"].size());
    else
        fmt::print("{}{} of {} lines and {} units of the next\n",
                   part == "behind_cut" ? "all but " : "", run["cut"]["lines"].get<std::uint64_t>(),
                   run["lines"].size(), run["cut"]["units"].get<std::uint64_t>());
}

void print_item(const json &item)
{
    if (item.contains("cut"))
        print_run(item);
    else
        fmt::print("item {} ({}): level {} of {}\n", item["item"].get<std::uint64_t>(),
                   item["kind"].get<std::string>(), item["level"].get<std::uint64_t>(),
                   item["levels"].get<std::uint64_t>() - 1);
    for (const json &line : item["lines"]) {
        fmt::print("  line {}\n", line["place"].get<std::string>());
        for (const json &piece : line["pieces"]) {
            fmt::print("    {} event {} {} {} bytes at {} = {:#x}, vcpu {}, {}\n",
                       piece["persisted"].get<bool>() ? "in PM   " : "missing ",
                       piece["seq"].get<std::uint64_t>(), piece["kind"].get<std::string>(),
                       piece["size"].get<unsigned>(), piece["place"].get<std::string>(),
                       piece["number"].get<std::uint64_t>(), piece["vcpu"].get<unsigned>(),
                       terminal_text(piece["site"].get<std::string>()));
            for (const json &frame : piece["stack"])
                fmt::print("                 called by {}\n",
                           terminal_text(frame.get<std::string>()));
        }
    }
}

} // namespace

void show_state(const trace::TraceReader &reader, const std::string &id,
                const Incidental &incidental, const Context &context)
{
    const states::CrashState state = states::parse_crash_state(id);
    const image::InitialImage initial(reader);
    const json document = collect::state_contents(
        reader, initial, image::contents_of(reader, initial, state, fences_of(reader, incidental)));
    if (context.settings.json) {
        print_json(document);
        return;
    }
    fmt::print("state     {}\n", document["id"].get<std::string>());
    fmt::print("crash     before event {}, in epoch {}\n", document["seq"].get<std::uint64_t>(),
               document["epoch"].get<std::uint64_t>());
    fmt::print("model     {}, fences {}{}\n", document["model"].get<std::string>(),
               document["fences"].get<std::string>(),
               document["legal_architecturally"].get<bool>()
                   ? ""
                   : "; relies on an incidental locked instruction");
    fmt::print("identity  {}; lines that differ from the initial image: {}\n",
               document["identity"].get<std::string>(),
               document["lines_changed"].get<std::uint64_t>());
    for (const json &item : document["items"])
        print_item(item);
}

void export_state(const trace::TraceReader &reader, const std::string &id, const std::string &file,
                  const Incidental &incidental, Overwrite overwrite, const Context &context)
{
    image::check_export(file, reader.regions().size(), overwrite);
    const states::CrashState state = states::parse_crash_state(id);
    const image::InitialImage initial(reader);
    const image::ImageDelta delta =
        image::delta_of(reader, initial, state, fences_of(reader, incidental));
    std::vector<std::string> made;
    for (const auto &path : image::export_image(file, initial, delta, overwrite))
        made.push_back(path.string());
    if (context.settings.json)
        print_json({{"id", id},
                    {"identity", delta.identity.hex()},
                    {"lines", delta.lines.size()},
                    {"files", made}});
    else
        for (const std::string &path : made)
            fmt::print("{}\n", path);
}

} // namespace fencepost::cli
