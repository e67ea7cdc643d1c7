// SPDX-License-Identifier: GPL-2.0-or-later
// See interval_table.h. The plan is a string with one character an argument: what it limits.
#include "trace/interval_table.h"

#include <algorithm>
#include <optional>
#include <string>

#include "trace/interval_counts.h"
#include "trace/table_module.h"

namespace fencepost::trace {

namespace {

enum Column { kInterval, kSite, kStores, kNtStores, kFlushes, kFences, kFirstSeq, kLastSeq, kRule };

constexpr char kRuleIs = 'r', kFrom = '>', kUpTo = '<', kExactly = '=';

char plan_code(int column, unsigned char sqlite_operator)
{
    if (column == kRule)
        return sqlite_operator == SQLITE_INDEX_CONSTRAINT_EQ ? kRuleIs : '\0';
    if (column != kInterval)
        return '\0';
    switch (sqlite_operator) {
    case SQLITE_INDEX_CONSTRAINT_EQ:
        return kExactly;
    case SQLITE_INDEX_CONSTRAINT_LT:
    case SQLITE_INDEX_CONSTRAINT_LE:
        return kUpTo;
    case SQLITE_INDEX_CONSTRAINT_GT:
    case SQLITE_INDEX_CONSTRAINT_GE:
        return kFrom;
    default:
        return '\0';
    }
}

class IntervalRows {
public:
    static constexpr char kDeclaration[] =
        "CREATE TABLE interval_site (interval INTEGER, site INTEGER, stores INTEGER, nt_stores "
        "INTEGER,"
        " flushes INTEGER, fences INTEGER, first_seq INTEGER, last_seq INTEGER, rule TEXT HIDDEN)";

    static int plan(sqlite3_index_info *info);
    void start(const TraceTable &table, int plan_number, const char *plan,
               std::span<sqlite3_value *> arguments);

    void next()
    {
        ++row_;
        if (++index_ >= counts_->sites().size())
            next_interval();
    }

    bool at_end() const { return at_end_; }
    std::uint64_t rowid() const { return row_; }
    void column(sqlite3_context *context, int number) const;

private:
    void next_interval()
    {
        at_end_ = true; // also when next() throws
        index_ = 0;
        while (counts_->next() && counts_->interval() <= last_interval_)
            if (counts_->interval() >= first_interval_) {
                at_end_ = false;
                return;
            }
    }

    std::optional<IntervalCounts> counts_;
    FenceRule rule_ = FenceRule::explicit_only;
    std::uint64_t first_interval_ = 0;
    std::uint64_t last_interval_ = UINT64_MAX;
    std::size_t index_ = 0; // among the interval's sites
    std::uint64_t row_ = 0;
    bool at_end_ = true;
};

int IntervalRows::plan(sqlite3_index_info *info)
{
    std::string plan;
    double rows = 1e6;
    for (int i = 0; i < info->nConstraint; ++i) {
        const auto &constraint = info->aConstraint[i];
        const char code = plan_code(constraint.iColumn, constraint.op);
        if (!code)
            continue;
        if (!constraint.usable) {
            // The rule decides which rows there are, so it must be known before the first.
            if (code == kRuleIs)
                return SQLITE_CONSTRAINT;
            continue;
        }
        plan += code;
        info->aConstraintUsage[i].argvIndex = static_cast<int>(plan.size());
        rows *= code == kRuleIs ? 1 : code == kExactly ? 1e-4 : 0.25;
    }
    info->idxStr = sqlite3_mprintf("%s", plan.c_str());
    if (!info->idxStr)
        return SQLITE_NOMEM;
    info->needToFreeIdxStr = 1;
    info->estimatedRows = static_cast<sqlite3_int64>(rows) + 1;
    // Always a pass over the events: far dearer than its rows.
    info->estimatedCost = 1e7 + rows;
    const auto ascending = [&](int term, int column) {
        return info->aOrderBy[term].iColumn == column && !info->aOrderBy[term].desc;
    };
    info->orderByConsumed = (info->nOrderBy == 1 && ascending(0, kInterval)) ||
                            (info->nOrderBy == 2 && ascending(0, kInterval) && ascending(1, kSite));
    return SQLITE_OK;
}

void IntervalRows::start(const TraceTable &table, int, const char *plan,
                         std::span<sqlite3_value *> arguments)
{
    rule_ = FenceRule::explicit_only;
    first_interval_ = 0;
    last_interval_ = UINT64_MAX;
    row_ = 0;
    for (std::size_t i = 0; i < arguments.size(); ++i) {
        if (plan[i] == kRuleIs) {
            const auto *text = reinterpret_cast<const char *>(sqlite3_value_text(arguments[i]));
            const std::string_view name = text ? text : "NULL";
            const std::optional<FenceRule> rule = fence_rule_named(name);
            if (!rule)
                fail(ErrorKind::usage, "rule '{}' is neither {} nor {}", name,
                     name_of(FenceRule::explicit_only), name_of(FenceRule::architectural));
            rule_ = *rule;
            continue;
        }
        if (sqlite3_value_type(arguments[i]) != SQLITE_INTEGER)
            continue; // 3.5, 'x' or NULL: left to SQLite, which checks every row again
        const sqlite3_int64 number = sqlite3_value_int64(arguments[i]);
        const auto interval = static_cast<std::uint64_t>(std::max<sqlite3_int64>(number, 0));
        if (plan[i] != kUpTo)
            first_interval_ = std::max(first_interval_, interval);
        if (plan[i] != kFrom)
            last_interval_ = std::min(last_interval_, interval);
    }
    counts_.emplace(EventScan(table.database, table.schema, IntervalCounts::filter()), rule_);
    next_interval();
}

void IntervalRows::column(sqlite3_context *context, int number) const
{
    const IntervalSite &row = counts_->sites()[index_];
    switch (number) {
    case kInterval:
        return result_number(context, counts_->interval());
    case kSite:
        return result_if(context, row.site != 0, row.site);
    case kStores:
        return result_number(context, row.stores);
    case kNtStores:
        return result_number(context, row.nt_stores);
    case kFlushes:
        return result_number(context, row.flushes);
    case kFences:
        return result_number(context, row.fences);
    case kFirstSeq:
        return result_number(context, counts_->first_seq());
    case kLastSeq:
        return result_number(context, counts_->last_seq());
    case kRule:
        return result_name(context, name_of(rule_));
    default:
        return;
    }
}

} // namespace

void register_interval_table(sqlite3 *database)
{
    TableModule<IntervalRows>::register_as(database, "fencepost_interval_site");
}

} // namespace fencepost::trace
