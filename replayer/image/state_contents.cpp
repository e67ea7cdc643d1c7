// SPDX-License-Identifier: GPL-2.0-or-later
// See state_contents.h.
#include "replayer/image/state_contents.h"

#include "replayer/image/image_walk.h"

namespace fencepost::image {

using states::Item;

namespace {

StateLine line_of(const states::ItemTable &table, const states::Cell &cell, const Item &item,
                  std::uint64_t level)
{
    const model::InFlightLine &line = table.line(cell);
    model::UnitCounts left = {};
    if (item.kind == Item::Kind::unit)
        left[item.unit] = static_cast<std::uint32_t>(level);
    else
        left = table.unit_counts(cell, std::span(&level, 1));
    StateLine shown = {.line = line.line};
    table.in_flight().for_each_piece(line, [&](const model::Piece &piece) {
        if (item.kind == Item::Kind::unit && piece.unit() != item.unit)
            return;
        const bool persisted = left[piece.unit()] != 0;
        left[piece.unit()] -= persisted;
        shown.pieces.push_back({.store = {piece.seq, piece.site, piece.stack},
                                .persisted = persisted,
                                .non_temporal = piece.non_temporal != 0,
                                .vcpu = piece.vcpu,
                                .address = line.line * trace::kLineBytes + piece.offset,
                                .size = piece.size,
                                .value = piece.value});
    });
    return shown;
}

StateItem item_of(const states::ItemTable &table, const Item &item, std::uint64_t level)
{
    StateItem shown = {.kind = item.kind, .level = level, .levels = item.levels};
    if (item.kind == Item::Kind::run)
        shown.part = table.part_at(item, level);
    for (std::uint32_t at = item.first_cell; at < item.first_cell + item.cell_count; ++at)
        shown.lines.push_back(line_of(table, table.cells()[at], item, level));
    return shown;
}

// Takes the one state that ImageWalk::run_to() offers.
class Opened : public ImageListener {
public:
    explicit Opened(StateContents &contents) : contents_(contents) {}

    bool image(ReadyImage &image) override
    {
        const states::StateView &state = image.state();
        contents_.epoch = image.point().epoch;
        contents_.architectural = image.architectural();
        contents_.identity = image.identity();
        contents_.lines_changed = image.difference_from_initial().size();
        for (std::uint32_t item = 0; item < state.items->items().size(); ++item)
            contents_.items.push_back(
                item_of(*state.items, state.items->items()[item], level_of(state, item)));
        return false;
    }

private:
    StateContents &contents_;
};

} // namespace

StateContents contents_of(const trace::TraceReader &reader, const InitialImage &initial,
                          const states::CrashState &state,
                          const trace::IncidentalFences &incidental)
{
    StateContents contents = {.state = state};
    Opened opened(contents);
    ImageWalk(reader, initial, states::options_of(state, incidental), {}).run_to(state, opened);
    return contents;
}

} // namespace fencepost::image
