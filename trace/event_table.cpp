// SPDX-License-Identifier: GPL-2.0-or-later
// See event_table.h.
#include "trace/event_table.h"

#include <algorithm>
#include <memory>
#include <optional>

#include "trace/event_context.h"
#include "trace/event_moments.h"
#include "trace/event_plan.h"
#include "trace/event_scan.h"
#include "trace/system_calls.h"
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

// What a connection has learned from all events or markers of its trace, for the columns that need
// it. Of a recording that goes on it is learned again.
class EventKnowledge {
public:
    explicit EventKnowledge(EpochEnds epoch_ends) : find_epoch_ends_(std::move(epoch_ends)) {}

    void need(const TraceTable &table, int wanted)
    {
        Statement count(table.database,
                        "SELECT event_count FROM " + quoted_name(table.schema) + ".recording");
        const std::uint64_t events = count.step() ? count.number(0) : 0;
        if (events != events_ || table.schema != schema_) {
            epoch_ends_.reset();
            context_.reset();
        }
        events_ = events;
        schema_ = table.schema;
        if ((wanted & kWantsEpoch) && !epoch_ends_) {
            if (!find_epoch_ends_)
                fail(ErrorKind::usage, "this connection does not know epochs");
            epoch_ends_ =
                find_epoch_ends_(EventScan(table.database, table.schema, {.with_values = false}));
        }
        if ((wanted & kWantsContext) && !context_)
            context_.emplace(table.database, table.schema);
    }

    // The event that ends an epoch belongs to it.
    std::uint64_t epoch(std::uint64_t seq) const
    {
        return static_cast<std::uint64_t>(std::ranges::lower_bound(*epoch_ends_, seq) -
                                          epoch_ends_->begin());
    }
    const EventContext &context() const { return *context_; }

private:
    EpochEnds find_epoch_ends_;
    std::uint64_t events_ = 0;
    std::string schema_;
    std::optional<std::vector<std::uint64_t>> epoch_ends_;
    std::optional<EventContext> context_;
};

class EventRows {
public:
    static constexpr const char *kDeclaration = kEventDeclaration;
    static int plan(sqlite3_index_info *info) { return plan_scan(info); }

    void start(const TraceTable &table, int plan_number, const char *plan,
               std::span<sqlite3_value *> arguments)
    {
        auto *knowledge = static_cast<EventKnowledge *>(table.shared);
        if (plan_number & (kWantsEpoch | kWantsContext))
            knowledge->need(table, plan_number);
        knowledge_ = knowledge;
        const EventFilter filter = planned_filter(plan_number, plan, arguments);
        // A join asks for one event after the other: mostly its block is open.
        one_seq_ = plan_number & kOneSeq;
        if (one_seq_ && scan_ && plan_number == plan_number_ &&
            scan_->select_in_block(filter.first_seq)) {
            index_ = 0;
            at_end_ = false;
            return;
        }
        plan_number_ = plan_number;
        moments_.reset();
        if (plan_number & kWantsMoments)
            moments_.emplace(table.database, table.schema);
        scan_.emplace(table.database, table.schema, filter);
        next_block();
    }

    void next()
    {
        if (one_seq_)
            at_end_ = true;
        else if (++index_ == count_)
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
        at_end_ = true; // also when this throws
        if (!scan_->next())
            return;
        index_ = 0;
        count_ = scan_->all_selected() ? scan_->events().size() : scan_->selected().size();
        if (moments_)
            block_moments_ = moments_->of_block(scan_->first_seq(), scan_->events().size());
        at_end_ = false;
    }

    void context_column(sqlite3_context *context, const Event &event, int number) const;
    void moment_column(sqlite3_context *context, int number) const;

    const EventKnowledge *knowledge_ = nullptr;
    std::optional<EventScan> scan_;
    std::optional<MomentReader> moments_;
    std::span<const EventMoment> block_moments_; // empty: nobody knows
    std::size_t index_ = 0;                      // among the block's selected events
    std::size_t count_ = 0;
    bool at_end_ = true;
    bool one_seq_ = false;
    int plan_number_ = 0; // of scan_
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
    case kEpoch:
        result_number(context, knowledge_->epoch(rowid()));
        break;
    case kThread:
    case kTime:
        moment_column(context, number);
        break;
    default:
        context_column(context, event, number);
        break;
    }
}

void EventRows::moment_column(sqlite3_context *context, int number) const
{
    if (block_moments_.empty())
        return;
    const EventMoment &moment = block_moments_[position()];
    if (number == kTime)
        result_number(context, moment.time);
    else
        result_if(context, moment.thread != 0, moment.thread);
}

void EventRows::context_column(sqlite3_context *context, const Event &event, int number) const
{
    if (number == kProcess) {
        const std::optional<std::uint64_t> process = knowledge_->context().process(event);
        return result_if(context, process.has_value(), process.value_or(0));
    }
    const Activity now = knowledge_->context().activity(rowid(), event);
    if (number == kOperation)
        result_if(context, now.operation.has_value(), now.operation.value_or(0));
    else if (number == kCall)
        result_if(context, now.call.has_value(), now.call.value_or(0));
    else if (now.call)
        result_text(context, system_call_name(now.call_number));
}

} // namespace

void register_event_table(sqlite3 *database, EpochEnds epoch_ends)
{
    TableModule<EventRows>::register_as(database, "fencepost_event",
                                        std::make_unique<EventKnowledge>(std::move(epoch_ends)));
}

} // namespace fencepost::trace
