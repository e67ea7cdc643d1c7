// SPDX-License-Identifier: GPL-2.0-or-later
// See event_table.h.
#include "trace/event_table.h"

#include <optional>

#include "trace/event_plan.h"
#include "trace/event_scan.h"
#include "trace/table_module.h"

namespace fencepost::trace {

namespace {

void result_value(sqlite3_context *context, const Event &event,
                  std::span<const std::byte> wide_values)
{
    if (!event.is_store())
        return;
    const auto bytes = value_of(event, wide_values);
    sqlite3_result_blob(context, bytes.data(), static_cast<int>(bytes.size()), SQLITE_TRANSIENT);
}

class EventRows {
public:
    static constexpr const char *kDeclaration = kEventDeclaration;
    static int plan(sqlite3_index_info *info) { return plan_scan(info); }

    void start(const TraceTable &table, int plan_number, const char *plan,
               std::span<sqlite3_value *> arguments)
    {
        scan_.emplace(table.database, table.schema, planned_filter(plan_number, plan, arguments));
        next_block();
    }

    void next()
    {
        if (++index_ == count_)
            next_block();
    }

    bool at_end() const { return at_end_; }
    std::uint64_t rowid() const { return scan_->first_seq() + position(); }
    void column(sqlite3_context *context, int number) const;

private:
    std::size_t position() const
    {
        return scan_->all_selected() ? index_ : scan_->selected()[index_];
    }

    void next_block()
    {
        at_end_ = true; // also when next() throws
        at_end_ = !scan_->next();
        index_ = 0;
        if (!at_end_)
            count_ = scan_->all_selected() ? scan_->events().size() : scan_->selected().size();
    }

    std::optional<EventScan> scan_;
    std::size_t index_ = 0; // among the block's selected events
    std::size_t count_ = 0;
    bool at_end_ = true;
};

void EventRows::column(sqlite3_context *context, int number) const
{
    const Event &event = scan_->events()[position()];
    switch (number) {
    case kSeq:
        result_number(context, rowid());
        break;
    case kKind:
        result_name(context, name_of(event.kind));
        break;
    case kSubkind:
        result_name(context, subkind_name(event.kind, event.subkind));
        break;
    case kVcpu:
        result_number(context, event.vcpu);
        break;
    case kAddress:
        result_if(context, event.has_address(), event.address);
        break;
    case kLine:
        result_if(context, event.has_address(), event.first_line());
        break;
    case kLastLine:
        result_if(context, event.has_address(), event.last_line());
        break;
    case kSize:
        result_if(context, event.size > 0, event.size);
        break;
    case kNumber:
        result_if(context, event.is_store() && !event.is_wide_store(), event.value);
        break;
    case kValue:
        result_value(context, event, scan_->wide_values());
        break;
    case kSite:
        result_if(context, event.site != 0, event.site);
        break;
    case kStack:
        result_if(context, event.stack != 0, event.stack);
        break;
    case kAtomicColumn:
        result_number(context, event.flags & kAtomic ? 1 : 0);
        break;
    default:
        break;
    }
}

} // namespace

void register_event_table(sqlite3 *database)
{
    TableModule<EventRows>::register_as(database, "fencepost_event");
}

} // namespace fencepost::trace
