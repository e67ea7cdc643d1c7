// SPDX-License-Identifier: GPL-2.0-or-later
// See event_plan.h. The plan is a string with two characters an argument: the column and the
// operator; its number says which columns cost extra.
#include "trace/event_plan.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <string>

namespace fencepost::trace {

namespace {

constexpr char kEqual = '=', kBelow = '<', kAtMost = 'l', kAbove = '>', kAtLeast = 'g', kIn = 'i';

char operator_code(unsigned char sqlite_operator)
{
    switch (sqlite_operator) {
    case SQLITE_INDEX_CONSTRAINT_EQ:
        return kEqual;
    case SQLITE_INDEX_CONSTRAINT_LT:
        return kBelow;
    case SQLITE_INDEX_CONSTRAINT_LE:
        return kAtMost;
    case SQLITE_INDEX_CONSTRAINT_GT:
        return kAbove;
    case SQLITE_INDEX_CONSTRAINT_GE:
        return kAtLeast;
    default:
        return 0;
    }
}

bool is_ranged(int column)
{
    return column == kSeq || column == kLine || column == kLastLine || column == kAddress;
}

bool is_matched(int column)
{
    return column == kKind || column == kSite || column == kVcpu;
}

// Guesses, for joins mostly; only their order of magnitude matters.
double selectivity(int column, char code)
{
    const bool equal = code == kEqual || code == kIn;
    switch (column) {
    case kLine:
    case kAddress:
    case kLastLine:
        return equal ? 1e-5 : 0.25;
    case kSite:
        return 0.05;
    case kSeq:
        return 0.25;
    default:
        return 0.5;
    }
}

bool wants_all_at_once(sqlite3_index_info *info, int constraint, int column)
{
    if (column == kSeq || sqlite3_libversion_number() < 3038000)
        return false;
    return sqlite3_vtab_in(info, constraint, -1) && sqlite3_vtab_in(info, constraint, 1);
}

struct Bounds {
    std::uint64_t first = 0;
    std::uint64_t last = UINT64_MAX;

    // The bounds may only shrink by what the constraint surely excludes.
    void apply(char code, std::int64_t number, std::uint64_t granularity)
    {
        if (number < 0)
            return;
        auto exact = static_cast<std::uint64_t>(number);
        exact += code == kAbove;
        exact -= code == kBelow && exact > 0;
        const std::uint64_t at = exact / granularity;
        if (code == kEqual || code == kAbove || code == kAtLeast)
            first = std::max(first, at);
        if (code == kEqual || code == kBelow || code == kAtMost)
            last = std::min(last, at);
    }
};

template <typename Visit> void for_each_value(char code, sqlite3_value *argument, Visit &&visit)
{
    if (code != kIn)
        return visit(argument);
    sqlite3_value *value = nullptr;
    for (int result = sqlite3_vtab_in_first(argument, &value); result == SQLITE_OK && value;
         result = sqlite3_vtab_in_next(argument, &value))
        visit(value);
}

std::uint8_t kinds_named(char code, sqlite3_value *argument)
{
    std::uint8_t kinds = 0;
    for_each_value(code, argument, [&](sqlite3_value *value) {
        const auto *text = reinterpret_cast<const char *>(sqlite3_value_text(value));
        for (unsigned kind = 0; kind < kEventKinds && text; ++kind)
            if (name_of(static_cast<EventKind>(kind)) == text)
                kinds |= static_cast<std::uint8_t>(1u << kind);
    });
    return kinds;
}

// SQLite compares again: 3.5 or 'x' equals no seq, whichever is looked at.
std::uint64_t one_seq(sqlite3_value *argument)
{
    return static_cast<std::uint64_t>(std::max<std::int64_t>(sqlite3_value_int64(argument), 0));
}

// The whole numbers among the values; any that is not could compare equal to one only after a
// conversion, which SQLite has done before it got here.
template <typename Id>
void keep_ids(std::optional<std::vector<Id>> &kept, char code, sqlite3_value *argument)
{
    std::vector<Id> ids;
    for_each_value(code, argument, [&](sqlite3_value *value) {
        const std::int64_t number = sqlite3_value_int64(value);
        if (number >= 0 && number <= std::numeric_limits<Id>::max())
            ids.push_back(static_cast<Id>(number));
    });
    if (kept)
        std::erase_if(ids, [&](Id id) { return !std::ranges::count(*kept, id); });
    kept = std::move(ids);
}

void keep_lines(std::optional<std::vector<LineRange>> &kept, int column, char code,
                sqlite3_value *argument)
{
    if (kept)
        return; // one IN list is enough to skip blocks
    const std::uint64_t granularity = column == kAddress ? kLineBytes : 1;
    std::vector<LineRange> lines;
    for_each_value(code, argument, [&](sqlite3_value *value) {
        const std::int64_t number = sqlite3_value_int64(value);
        if (number >= 0)
            lines.push_back({static_cast<std::uint64_t>(number) / granularity,
                             static_cast<std::uint64_t>(number) / granularity});
    });
    kept = std::move(lines);
}

bool is_by_seq(const sqlite3_index_info &info)
{
    return info.nOrderBy == 1 && !info.aOrderBy[0].desc &&
           (info.aOrderBy[0].iColumn == kSeq || info.aOrderBy[0].iColumn < 0);
}

bool is_one_seq(const sqlite3_index_info &info, int constraint)
{
    const auto &each = info.aConstraint[constraint];
    return each.usable && each.op == SQLITE_INDEX_CONSTRAINT_EQ &&
           (each.iColumn < 0 || each.iColumn == kSeq);
}

// A row of a join, mostly. What else must hold of it is left to SQLite.
void plan_one_seq(sqlite3_index_info *info, int constraint)
{
    info->aConstraintUsage[constraint].argvIndex = 1;
    info->idxNum |= kOneSeq;
    info->idxFlags |= SQLITE_INDEX_SCAN_UNIQUE;
    info->estimatedRows = 1;
    info->estimatedCost = 100;
    info->orderByConsumed = is_by_seq(*info);
}

int wanted_columns(sqlite3_uint64 used)
{
    constexpr sqlite3_uint64 kValues = 1u << kNumber | 1u << kValue;
    constexpr sqlite3_uint64 kContext =
        1u << kProcess | 1u << kOperation | 1u << kSystemCall | 1u << kCall;
    return (used & kValues ? kWantsValues : 0) | (used & 1u << kEpoch ? kWantsEpoch : 0) |
           (used & kContext ? kWantsContext : 0) |
           (used & (1u << kThread | 1u << kTime) ? kWantsMoments : 0);
}

} // namespace

int plan_scan(sqlite3_index_info *info)
{
    info->idxNum = wanted_columns(info->colUsed);
    for (int i = 0; i < info->nConstraint; ++i)
        if (is_one_seq(*info, i)) {
            plan_one_seq(info, i);
            return SQLITE_OK;
        }
    std::string plan;
    double rows = 1e7;
    for (int i = 0; i < info->nConstraint; ++i) {
        const auto &constraint = info->aConstraint[i];
        char code = constraint.usable ? operator_code(constraint.op) : '\0';
        const int column = constraint.iColumn < 0 ? int{kSeq} : constraint.iColumn;
        if (!code || !(is_ranged(column) || (is_matched(column) && code == kEqual)))
            continue;
        if (column == kKind && std::strcmp(sqlite3_vtab_collation(info, i), "BINARY") != 0)
            continue;
        if (code == kEqual && wants_all_at_once(info, i, column))
            code = kIn;
        plan += static_cast<char>('a' + column);
        plan += code;
        info->aConstraintUsage[i].argvIndex = static_cast<int>(plan.size() / 2);
        rows *= selectivity(column, code);
    }
    info->idxStr = sqlite3_mprintf("%s", plan.c_str());
    if (!info->idxStr)
        return SQLITE_NOMEM;
    info->needToFreeIdxStr = 1;
    info->estimatedRows = static_cast<sqlite3_int64>(rows) + 1;
    info->estimatedCost = 100 + rows;
    info->orderByConsumed = is_by_seq(*info);
    return SQLITE_OK;
}

EventFilter planned_filter(int plan_number, const char *plan, std::span<sqlite3_value *> arguments)
{
    EventFilter filter;
    filter.with_values = plan_number & kWantsValues;
    if (plan_number & kOneSeq) {
        filter.first_seq = filter.last_seq = one_seq(arguments[0]);
        return filter;
    }
    Bounds seqs;
    Bounds lines;
    for (std::size_t i = 0; i < arguments.size(); ++i) {
        const int column = plan[2 * i] - 'a';
        const char code = plan[2 * i + 1];
        sqlite3_value *argument = arguments[i];
        if (column == kKind) {
            filter.kinds &= kinds_named(code, argument);
        } else if (code == kIn) {
            if (column == kSite)
                keep_ids(filter.sites, code, argument);
            else if (column == kVcpu)
                keep_ids(filter.vcpus, code, argument);
            else
                keep_lines(filter.lines, column, code, argument);
        } else if (sqlite3_value_type(argument) != SQLITE_INTEGER) {
            continue; // 3.5, 'x' or NULL: left to SQLite
        } else if (column == kSite) {
            keep_ids(filter.sites, code, argument);
        } else if (column == kVcpu) {
            keep_ids(filter.vcpus, code, argument);
        } else if (column == kSeq) {
            seqs.apply(code, sqlite3_value_int64(argument), 1);
        } else {
            lines.apply(code, sqlite3_value_int64(argument), column == kAddress ? kLineBytes : 1);
        }
    }
    filter.first_seq = seqs.first;
    filter.last_seq = seqs.last;
    const bool bounded = lines.first > 0 || lines.last < UINT64_MAX;
    if (bounded && !filter.lines) {
        // `line <= 4 AND last_line >= 5` is a store across both lines: the bounds cross.
        const auto [first, last] = std::minmax(lines.first, lines.last);
        filter.lines = {LineRange{first, last}};
    }
    return filter;
}

} // namespace fencepost::trace
