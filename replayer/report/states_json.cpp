// SPDX-License-Identifier: GPL-2.0-or-later
// See states_json.h.
#include "replayer/report/states_json.h"

#include "analyzer/symbols/code_names.h"
#include "analyzer/symbols/pm_names.h"

namespace fencepost::collect {

using nlohmann::json;

namespace {

json to_json(const states::StateCount &count)
{
    return {{"exact", count.exact ? json(*count.exact) : json()}, {"log2", count.log2}};
}

json to_json(const states::EpochCount &epoch)
{
    return {{"epoch", epoch.point.epoch},
            {"seq", epoch.point.seq},
            {"lines", epoch.lines},
            {"legal", to_json(epoch.legal)},
            {"generated", epoch.generated}};
}

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

} // namespace

void StatesSeen::add(const states::EpochCount &epoch)
{
    if (!largest || epoch.legal.log2 > largest->legal.log2)
        largest = epoch;
    if (wants_epochs)
        epochs.push_back(to_json(epoch));
}

json state_row(const image::ReadyImage &image, const std::string &id, bool architectural,
               const image::ImageIndex::Added &added)
{
    return {{"id", id},
            {"seq", image.point().seq},
            {"epoch", image.point().epoch},
            {"failure_point", image.point().failure_point},
            {"promise_changes", image.point().promise},
            {"returned", image.point().returned},
            {"image", added.image},
            {"identity", image.identity().hex()},
            {"new", added.is_new},
            {"relies_on_locked_instruction", !architectural}};
}

json states_summary(const states::WalkOptions &walk, const states::WalkReport &report,
                    const StatesSeen &seen)
{
    return {
        {"model", name_of(walk.model)},
        {"fences", name_of(walk.fences)},
        {"strategy", states::text_of(walk.strategies)},
        {"seed", walk.seed},
        {"group", states::name_of(walk.grouping)},
        {"events", report.events},
        {"epochs", report.epochs},
        {"crash_points", report.crash_points},
        {"promise_points", report.promise_points},
        {"incidental_fences", report.incidental_fences},
        {"failure_points", report.failure_points},
        {"legal", to_json(report.legal)},
        {"largest_epoch", seen.largest ? to_json(*seen.largest) : json()},
        {"generated", report.generated},
        {"images", seen.new_images},
        {"duplicates", report.generated - seen.new_images},
        {"capped_crash_points", report.capped},
        {"grouped",
         {{"crash_points", report.grouped_crash_points},
          {"runs", report.runs},
          {"lines", report.lines_in_runs}}},
        {"stopped", report.stopped},
    };
}

json state_contents(const trace::TraceReader &reader, const image::InitialImage &initial,
                    const image::StateContents &contents)
{
    return ContentsJson(reader, initial).document(contents);
}

} // namespace fencepost::collect
