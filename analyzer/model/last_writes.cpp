// SPDX-License-Identifier: GPL-2.0-or-later
// See last_writes.h.
#include "analyzer/model/last_writes.h"

#include "base/error.h"

namespace fencepost::model {

namespace {

constexpr std::array<std::uint64_t, 256> kBytesOfUnits = [] {
    std::array<std::uint64_t, 256> table = {};
    for (unsigned units = 0; units < table.size(); ++units)
        for (unsigned unit = 0; unit < kUnitsPerLine; ++unit)
            if (units >> unit & 1)
                table[units] |= std::uint64_t{0xff} << unit * trace::kUnitBytes;
    return table;
}();

// The units of a mask whose write is one of those.
template <typename IsOne>
std::uint8_t units_where(const WrittenLine &line, std::uint8_t mask, IsOne &&is_one)
{
    std::uint8_t units = 0;
    for (unsigned unit = 0; unit < kUnitsPerLine; ++unit)
        if (mask >> unit & 1 && is_one(line.writes[unit], unit))
            units |= static_cast<std::uint8_t>(1u << unit);
    return units;
}

} // namespace

LastWrites::LastWrites(ModelKind kind, FenceRule rule) : guarantees_(kind, rule), lines_(1)
{
    CHECK(kind != ModelKind::line, "units of a line leave flight one by one");
}

std::uint32_t LastWrites::open_new(std::uint64_t line)
{
    std::uint32_t number = 0;
    if (free_lines_.empty()) {
        number = static_cast<std::uint32_t>(lines_.size());
        lines_.emplace_back();
    } else {
        number = free_lines_.back();
        free_lines_.pop_back();
    }
    lines_[number].line = line;
    return number;
}

void LastWrites::take_out(std::uint32_t number, std::uint8_t units)
{
    WrittenLine &line = lines_[number];
    units &= line.in_flight();
    const auto keep = static_cast<std::uint8_t>(~units);
    line.cached &= keep;
    line.flushed &= keep;
    line.nt &= keep;
    line.marked &= keep;
    line.bytes &= ~kBytesOfUnits[units];
    line.flushed_bytes &= line.bytes;
    if (line.in_flight() != 0)
        return;
    line.line = WrittenLine::kGone;
    line.last_flush.seq = 0;
    if (line.mixed != kNone) {
        mixed_[line.mixed] = {};
        free_mixed_.push_back(line.mixed);
        line.mixed = kNone;
    }
    free_lines_.push_back(number);
}

std::uint8_t LastWrites::cached_before(const WrittenLine &line, std::uint64_t seq)
{
    return units_where(line, line.cached,
                       [&](const UnitWrite &write, unsigned) { return write.seq() < seq; });
}

std::uint8_t LastWrites::non_temporal_of(const WrittenLine &line, std::uint16_t vcpu)
{
    return units_where(line, line.nt,
                       [&](const UnitWrite &write, unsigned) { return write.vcpu() == vcpu; });
}

void LastWrites::wait_non_temporal(std::uint16_t vcpu, std::uint32_t number)
{
    WrittenLine &line = lines_[number];
    line.nt_vcpu = line.nt == 0 ? vcpu : kNone;
    guarantees_.wait_non_temporal(*this, vcpu, number);
}

// Before a non-temporal store to these units.
void LastWrites::carry(std::uint16_t vcpu, WrittenLine &line, std::uint8_t units)
{
    if (line.mixed == kNone) {
        if (free_mixed_.empty()) {
            free_mixed_.push_back(static_cast<std::uint32_t>(mixed_.size()));
            mixed_.emplace_back();
        }
        line.mixed = free_mixed_.back();
        free_mixed_.pop_back();
    }
    Mixed &mixed = mixed_[line.mixed];
    for (unsigned unit = 0; unit < kUnitsPerLine; ++unit)
        if (line.cached & units & 1u << unit)
            mixed.under[unit] = position(line.writes[unit].seq(), unit);
    mixed.over_cached |= line.cached & units;
    for (unsigned unit = 0; unit < kUnitsPerLine; ++unit)
        if (mixed.over_cached & units & 1u << unit)
            mixed.carry(vcpu, mixed.under[unit]);
}

void LastWrites::Mixed::carry(std::uint16_t vcpu, std::uint64_t position)
{
    for (Carried &one : carried)
        if (one.vcpu == vcpu) {
            one.position = std::max(one.position, position);
            return;
        }
    carried.push_back({vcpu, position});
}

std::uint8_t LastWrites::take_carried(std::uint16_t vcpu, const WrittenLine &line)
{
    std::vector<Mixed::Carried> &all = mixed_[line.mixed].carried;
    const auto carried =
        std::find_if(all.begin(), all.end(), [&](const auto &one) { return one.vcpu == vcpu; });
    if (carried == all.end())
        return 0;
    const std::uint64_t last = carried->position;
    all.erase(carried);
    return units_where(line, line.cached, [&](const UnitWrite &write, unsigned unit) {
        return position(write.seq(), unit) <= last;
    });
}

void LastWrites::note_flush(std::uint32_t number, const LastFlush &flush)
{
    WrittenLine &line = lines_[number];
    line.last_flush = flush;
    line.flushed = line.cached;
    line.flushed_bytes = line.bytes & kBytesOfUnits[line.cached];
}

void LastWrites::flush(std::uint64_t seq, const trace::Event &event, std::uint32_t number)
{
    const bool known = event.has_address() && lines_[number].line == event.first_line();
    guarantees_.flush(*this, seq, event, known ? number : kNone,
                      [this](std::uint32_t each, const Covered &covered) {
                          take_out(each, cached_before(lines_[each], covered.cached_before));
                      });
}

bool LastWrites::relies_on_lock(const WrittenLine &line, unsigned unit) const
{
    const auto locked_after = [this](std::uint16_t vcpu, std::uint64_t seq) {
        return vcpu < last_locked_.size() && last_locked_[vcpu] > seq;
    };
    const UnitWrite &write = line.writes[unit];
    if (line.nt >> unit & 1)
        return locked_after(write.vcpu(), write.seq());
    return (line.flushed >> unit & 1) && locked_after(line.last_flush.vcpu, line.last_flush.seq);
}

} // namespace fencepost::model
