// SPDX-License-Identifier: GPL-2.0-or-later
// See fate_table.h. The plan is a string with one character an argument: which parameter it is.
#include "analyzer/tables/fate_table.h"

#include <optional>
#include <string>

#include "analyzer/tables/store_fates.h"
#include "trace/table_module.h"

namespace fencepost::tables {

namespace {

using trace::Event;
using trace::EventKind;

enum Column {
    kSeq,
    kKind,
    kVcpu,
    kAddress,
    kLine,
    kLastLine,
    kSize,
    kSite,
    kStack,
    kEpoch,
    kFlushedSeq,
    kGuaranteedSeq,
    kGuaranteedBy,
    kGuaranteedEpoch,
    kFencesPassed,
    kModel,
    kRule,
};

constexpr char kModelIs = 'm', kRuleIs = 'r';

char plan_code(int column)
{
    return column == kModel ? kModelIs : column == kRule ? kRuleIs : '\0';
}

std::string_view argument_text(sqlite3_value *argument)
{
    const auto *text = reinterpret_cast<const char *>(sqlite3_value_text(argument));
    return text ? text : "NULL";
}

class FateRows {
public:
    static constexpr char kDeclaration[] =
        "CREATE TABLE store_fate (seq INTEGER, kind TEXT, vcpu INTEGER, address INTEGER,"
        " line INTEGER, last_line INTEGER, size INTEGER, site INTEGER, stack INTEGER,"
        " epoch INTEGER, flushed_seq INTEGER, guaranteed_seq INTEGER, guaranteed_by TEXT,"
        " guaranteed_epoch INTEGER, fences_passed INTEGER, model TEXT HIDDEN, rule TEXT HIDDEN)";

    static int plan(sqlite3_index_info *info);
    void start(const trace::TraceTable &table, int plan_number, const char *plan,
               std::span<sqlite3_value *> arguments);

    void next()
    {
        ++row_;
        if (++index_ >= fates_->fates().size())
            next_block();
    }

    bool at_end() const { return at_end_; }
    std::uint64_t rowid() const { return row_; }
    void column(sqlite3_context *context, int number) const;

private:
    void next_block()
    {
        at_end_ = true; // also when next() throws
        index_ = 0;
        while (fates_->next())
            if (!fates_->fates().empty()) {
                at_end_ = false;
                return;
            }
    }
    void guarantee_column(sqlite3_context *context, const StoreFate &fate, int number) const;

    std::optional<StoreFates> fates_;
    model::ModelKind model_ = model::ModelKind::adr;
    model::FenceRule rule_ = model::FenceRule::explicit_only;
    std::size_t index_ = 0;
    std::uint64_t row_ = 0;
    bool at_end_ = true;
};

int FateRows::plan(sqlite3_index_info *info)
{
    std::string plan;
    for (int i = 0; i < info->nConstraint; ++i) {
        const auto &constraint = info->aConstraint[i];
        const char code = plan_code(constraint.iColumn);
        if (!code || constraint.op != SQLITE_INDEX_CONSTRAINT_EQ)
            continue;
        if (!constraint.usable)
            return SQLITE_CONSTRAINT; // they decide which rows there are
        plan += code;
        info->aConstraintUsage[i].argvIndex = static_cast<int>(plan.size());
    }
    info->idxStr = sqlite3_mprintf("%s", plan.c_str());
    if (!info->idxStr)
        return SQLITE_NOMEM;
    info->needToFreeIdxStr = 1;
    // Always a pass over all events: never the inner part of a join where another can be.
    info->estimatedRows = 10'000'000;
    info->estimatedCost = 1e9;
    return SQLITE_OK;
}

void FateRows::start(const trace::TraceTable &table, int, const char *plan,
                     std::span<sqlite3_value *> arguments)
{
    model_ = model::ModelKind::adr;
    rule_ = model::FenceRule::explicit_only;
    row_ = 0;
    for (std::size_t i = 0; i < arguments.size(); ++i) {
        const std::string_view name = argument_text(arguments[i]);
        if (plan[i] == kModelIs) {
            const auto named = model::model_named(name);
            if (!named)
                fail(ErrorKind::usage, "there is no model '{}'; there are adr, eadr and line",
                     name);
            model_ = *named;
        } else {
            const auto named = model::fence_rule_named(name);
            if (!named)
                fail(ErrorKind::usage, "rule '{}' is neither explicit nor architectural", name);
            rule_ = *named;
        }
    }
    fates_.emplace(trace::EventScan(table.database, table.schema, {.with_values = false}), model_,
                   rule_);
    next_block();
}

void FateRows::column(sqlite3_context *context, int number) const
{
    const StoreFate &fate = fates_->fates()[index_];
    const Event &store = fate.store;
    switch (number) {
    case kSeq:
        return trace::result_number(context, fate.seq);
    case kKind:
        return trace::result_name(context, name_of(store.kind));
    case kVcpu:
        return trace::result_number(context, store.vcpu);
    case kAddress:
        return trace::result_number(context, store.address);
    case kLine:
        return trace::result_number(context, store.first_line());
    case kLastLine:
        return trace::result_number(context, store.last_line());
    case kSize:
        return trace::result_number(context, store.size);
    case kSite:
        return trace::result_if(context, store.site != 0, store.site);
    case kStack:
        return trace::result_if(context, store.stack != 0, store.stack);
    case kEpoch:
        return trace::result_number(context, fate.epoch);
    case kModel:
        return trace::result_name(context, name_of(model_));
    case kRule:
        return trace::result_name(context, name_of(rule_));
    default:
        return guarantee_column(context, fate, number);
    }
}

void FateRows::guarantee_column(sqlite3_context *context, const StoreFate &fate, int number) const
{
    const Event &by = fate.guaranteed_by;
    switch (number) {
    case kFlushedSeq:
        return trace::result_if(context, fate.flushed.has_value(), fate.flushed.value_or(0));
    case kGuaranteedSeq:
        return trace::result_if(context, fate.guaranteed.has_value(), fate.guaranteed.value_or(0));
    case kGuaranteedBy:
        if (fate.guaranteed)
            trace::result_name(context, by.is_store() ? name_of(by.kind)
                                                      : subkind_name(by.kind, by.subkind));
        return;
    case kGuaranteedEpoch:
        return trace::result_if(context, fate.guaranteed.has_value(), fate.guaranteed_epoch);
    case kFencesPassed:
        return trace::result_number(context, fate.fences);
    default:
        return;
    }
}

} // namespace

void register_fate_table(sqlite3 *database)
{
    trace::TableModule<FateRows>::register_table(database, "store_fate");
}

} // namespace fencepost::tables
