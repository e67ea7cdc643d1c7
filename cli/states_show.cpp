// SPDX-License-Identifier: GPL-2.0-or-later
// `fencepost states --show` and `--export`: one state.
#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include "analyzer/symbols/code_names.h"
#include "analyzer/symbols/pm_names.h"
#include "base/error.h"
#include "base/terminal_text.h"
#include "cli/states_verb.h"
#include "replayer/image/image_export.h"
#include "replayer/image/image_walk.h"

namespace fencepost::cli {

namespace {

using nlohmann::json;
using states::Item;
using states::StateView;

// Collects the one state that ImageWalk::run_to() offers.
class OneState : public image::ImageListener {
public:
    OneState(const trace::TraceReader &reader, const states::CrashState &state)
        : state_(state), initial_(reader), names_(reader)
    {
    }

    bool image(image::ReadyImage &image) override
    {
        const StateView &state = image.state();
        identity_ = image.identity();
        epoch_ = image.point().epoch;
        architectural_ = image.architectural();
        difference_ = image.difference_from_initial();
        items_ = json::array();
        for (std::uint32_t item = 0; item < state.items->items().size(); ++item)
            items_.push_back(item_json(*state.items, item, level_of(state, item)));
        return false;
    }

    json document() const
    {
        return {{"id", states::id_of(state_)},
                {"seq", state_.seq},
                {"epoch", epoch_},
                {"model", name_of(state_.model)},
                {"fences", name_of(state_.fences)},
                {"identity", identity_.hex()},
                {"legal_architecturally", architectural_},
                {"lines_changed", difference_.size()},
                {"items", items_}};
    }

    image::ImageDelta delta() const
    {
        return {.state = states::id_of(state_),
                .regions = {initial_.regions().begin(), initial_.regions().end()},
                .identity = identity_,
                .lines = difference_};
    }
    const image::InitialImage &initial() const { return initial_; }

private:
    json item_json(const states::ItemTable &table, std::uint32_t number, std::uint64_t level)
    {
        static constexpr const char *kKinds[] = {"line", "unit", "mixed", "run"};
        const Item &item = table.items()[number];
        json lines = json::array();
        for (std::uint32_t at = item.first_cell; at < item.first_cell + item.cell_count; ++at)
            lines.push_back(line_json(table, table.cells()[at], item, level));
        json row = {{"item", number},
                    {"kind", kKinds[static_cast<unsigned>(item.kind)]},
                    {"level", level},
                    {"levels", item.levels},
                    {"lines", lines}};
        if (item.kind == Item::Kind::run) {
            static constexpr const char *kParts[] = {"before_cut", "behind_cut", "first_pieces"};
            const states::RunPart part = table.part_at(item, level);
            row["part"] = kParts[static_cast<unsigned>(part.kind)];
            row["cut"] = {{"lines", part.lines}, {"units", part.units}};
        }
        return row;
    }

    json line_json(const states::ItemTable &table, const states::Cell &cell, const Item &item,
                   std::uint64_t level)
    {
        const model::InFlightLine &line = table.line(cell);
        model::UnitCounts left = {};
        if (item.kind == Item::Kind::unit)
            left[item.unit] = static_cast<std::uint32_t>(level);
        else
            left = table.unit_counts(cell, std::span(&level, 1));
        json pieces = json::array();
        table.in_flight().for_each_piece(line, [&](const model::Piece &piece) {
            if (item.kind == Item::Kind::unit && piece.unit() != item.unit)
                return;
            const bool persisted = left[piece.unit()] != 0;
            left[piece.unit()] -= persisted;
            pieces.push_back({{"seq", piece.seq},
                              {"persisted", persisted},
                              {"kind", piece.non_temporal ? "nt_store" : "store"},
                              {"vcpu", piece.vcpu},
                              {"place", pm_place(line.line * trace::kLineBytes + piece.offset)},
                              {"size", static_cast<unsigned>(piece.size)},
                              {"number", piece.value},
                              {"site", names_.where(piece.site)},
                              {"stack", names_.stack(piece.stack)}});
        });
        return {{"line", line.line},
                {"place", pm_place(line.line * trace::kLineBytes)},
                {"pieces", pieces}};
    }

    std::string pm_place(std::uint64_t address) const
    {
        return symbols::pm_name(initial_.regions(), address);
    }

    states::CrashState state_;
    image::InitialImage initial_;
    symbols::CodeNames names_;
    image::Hash128 identity_;
    std::uint64_t epoch_ = 0;
    bool architectural_ = false;
    std::vector<image::LineContent> difference_;
    json items_;
};

std::unique_ptr<OneState> find_state(const trace::TraceReader &reader, const std::string &id,
                                     const Incidental &incidental)
{
    const states::CrashState state = states::parse_crash_state(id);
    auto found = std::make_unique<OneState>(reader, state);
    image::ImageWalk(reader, found->initial(), walk_options(reader, state, incidental), {})
        .run_to(state, *found);
    return found;
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
    const json document = find_state(reader, id, incidental)->document();
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
    const bool one_file = file.ends_with(".delta") || reader.regions().size() == 1;
    if (one_file) // before the state is looked for
        check_output(file, overwrite);
    const std::unique_ptr<OneState> state = find_state(reader, id, incidental);
    const image::ImageDelta delta = state->delta();
    std::vector<std::string> made;
    if (file.ends_with(".delta")) {
        const std::vector<std::byte> bytes = image::encode_delta(delta);
        write_output(file, {reinterpret_cast<const char *>(bytes.data()), bytes.size()}, overwrite);
        made.push_back(file);
    } else {
        for (const auto &path : image::write_image(file, state->initial(), delta, overwrite))
            made.push_back(path.string());
    }
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
