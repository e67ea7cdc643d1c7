// SPDX-License-Identifier: GPL-2.0-or-later
// `fencepost states --show` and `--export`: one state.
#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include "analyzer/symbols/code_names.h"
#include "analyzer/symbols/pm_names.h"
#include "base/terminal_text.h"
#include "cli/states_verb.h"
#include "replayer/image/image_export.h"
#include "replayer/image/state_contents.h"
#include "replayer/image/state_delta.h"

namespace fencepost::cli {

namespace {

using nlohmann::json;

// Code and places in PM by their names.
class ContentsJson {
public:
    ContentsJson(const trace::TraceReader &reader, const image::InitialImage &initial)
        : initial_(initial), names_(reader)
    {
    }

    json document(const image::StateContents &contents)
    {
        json items = json::array();
        for (const image::StateItem &item : contents.items)
            items.push_back(of(item, items.size()));
        const states::CrashState &state = contents.state;
        return {{"id", states::id_of(state)},
                {"seq", state.seq},
                {"epoch", contents.epoch},
                {"model", name_of(state.model)},
                {"fences", name_of(state.fences)},
                {"identity", contents.identity.hex()},
                {"legal_architecturally", contents.architectural},
                {"lines_changed", contents.lines_changed},
                {"items", items}};
    }

private:
    json of(const image::StateItem &item, std::size_t number)
    {
        static constexpr const char *kKinds[] = {"line", "unit", "mixed", "run"};
        json lines = json::array();
        for (const image::StateLine &line : item.lines) {
            json pieces = json::array();
            for (const image::StatePiece &piece : line.pieces)
                pieces.push_back(of(piece));
            lines.push_back({{"line", line.line},
                             {"place", pm_place(line.line * trace::kLineBytes)},
                             {"pieces", pieces}});
        }
        json row = {{"item", number},
                    {"kind", kKinds[static_cast<unsigned>(item.kind)]},
                    {"level", item.level},
                    {"levels", item.levels},
                    {"lines", lines}};
        if (item.part) {
            static constexpr const char *kParts[] = {"before_cut", "behind_cut", "first_pieces"};
            row["part"] = kParts[static_cast<unsigned>(item.part->kind)];
            row["cut"] = {{"lines", item.part->lines}, {"units", item.part->units}};
        }
        return row;
    }

    json of(const image::StatePiece &piece)
    {
        return {{"seq", piece.store.seq},
                {"persisted", piece.persisted},
                {"kind", piece.non_temporal ? "nt_store" : "store"},
                {"vcpu", piece.vcpu},
                {"place", pm_place(piece.address)},
                {"size", piece.size},
                {"number", piece.value},
                {"site", names_.where(piece.store.site)},
                {"stack", names_.stack(piece.store)}};
    }

    std::string pm_place(std::uint64_t address) const
    {
        return symbols::pm_name(initial_.regions(), address);
    }

    const image::InitialImage &initial_;
    symbols::CodeNames names_;
};

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
    const json document =
        ContentsJson(reader, initial)
            .document(image::contents_of(reader, initial, state, fences_of(reader, incidental)));
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
