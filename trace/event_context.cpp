// SPDX-License-Identifier: GPL-2.0-or-later
// See event_context.h.
#include "trace/event_context.h"

#include <algorithm>
#include <set>

#include "trace/database.h"
#include "trace/records.h"

namespace fencepost::trace {

namespace {

// Ids are dense from 1 in honest traces; a forged one must cost no memory.
constexpr std::uint64_t kMostIds = 1u << 26;

std::uint64_t last_id(sqlite3 *database, const std::string &table)
{
    Statement count(database, "SELECT count(*) FROM " + table);
    return count.step() ? std::min(count.number(0), kMostIds) : 0;
}

// What has begun and not ended.
class Ongoing {
public:
    void begin_operation(std::uint64_t seq, std::int64_t number)
    {
        operations_.push_back({seq, number});
    }
    // Gives the seq of its begin.
    std::optional<std::uint64_t> end_operation(std::int64_t number)
    {
        const auto last = std::find_if(operations_.rbegin(), operations_.rend(),
                                       [&](const Begun &each) { return each.number == number; });
        if (last == operations_.rend())
            return std::nullopt;
        const std::uint64_t seq = last->seq;
        operations_.erase(std::next(last).base());
        return seq;
    }
    void enter_call(std::uint64_t seq, std::int64_t number) { calls_.push_back({seq, number}); }
    void leave_call(std::int64_t number)
    {
        const auto last = std::find_if(calls_.rbegin(), calls_.rend(),
                                       [&](const Begun &each) { return each.number == number; });
        if (last != calls_.rend())
            calls_.erase(std::next(last).base());
    }
    template <typename Forget> void end_all(Forget &&forget)
    {
        for (const Begun &operation : operations_)
            forget(operation.seq);
        operations_.clear();
        calls_.clear();
    }

    Activity activity() const
    {
        Activity now;
        if (!operations_.empty())
            now.operation = operations_.back().seq;
        if (!calls_.empty()) {
            now.call = calls_.back().seq;
            now.call_number = calls_.back().number;
        }
        return now;
    }

private:
    struct Begun {
        std::uint64_t seq;
        std::int64_t number;
    };
    std::vector<Begun> operations_;
    std::vector<Begun> calls_;
};

} // namespace

const Activity *EventContext::Timeline::at(std::uint64_t seq) const
{
    const auto is_at = [&](std::size_t i) {
        return i < changes.size() && changes[i].seq <= seq &&
               (i + 1 == changes.size() || changes[i + 1].seq > seq);
    };
    if (!is_at(recent)) {
        const auto after = std::ranges::upper_bound(changes, seq, {}, &Change::seq);
        if (after == changes.begin())
            return nullptr;
        recent = static_cast<std::size_t>(after - changes.begin()) - 1;
    }
    return &changes[recent].activity;
}

EventContext::EventContext(sqlite3 *database, const std::string &schema)
{
    const std::string prefix = quoted_name(schema) + ".";
    read_code(database, prefix);
    read_stacks(database, prefix);
    read_markers(database, prefix);
}

void EventContext::read_code(sqlite3 *database, const std::string &prefix)
{
    sites_.resize(last_id(database, prefix + "site") + 1);
    Statement row(database, "SELECT id, privilege, address_space FROM " + prefix + "site");
    while (row.step())
        if (row.number(0) < sites_.size())
            sites_[row.number(0)] = {row.text(1) == name_of(Privilege::user), row.number(2)};
}

void EventContext::read_stacks(sqlite3 *database, const std::string &prefix)
{
    roots_.resize(last_id(database, prefix + "stack") + 1);
    Statement row(database, "SELECT stack.id, stack.parent, frame.privilege, frame.address_space"
                            " FROM " +
                                prefix + "stack AS stack JOIN " + prefix +
                                "stack_frame AS frame ON frame.id = stack.frame ORDER BY stack.id");
    while (row.step()) { // a caller's stack comes before those that continue it
        const std::uint64_t id = row.number(0);
        const std::uint64_t parent = row.number(1);
        if (id >= roots_.size())
            continue;
        roots_[id] = parent != 0 && parent < id
                         ? roots_[parent]
                         : Code{row.text(2) == name_of(Privilege::user), row.number(3)};
    }
}

void EventContext::read_markers(sqlite3 *database, const std::string &prefix)
{
    std::map<std::uint64_t, Ongoing> ongoing;
    std::set<std::uint64_t> operations; // of all processes, by the seq of their begin
    Statement row(database, "SELECT seq, kind, number, process FROM " + prefix +
                                "marker WHERE kind IN ('op_begin', 'op_end', 'syscall_enter',"
                                " 'syscall_exit', 'process_end') ORDER BY seq");
    const auto from = [](Timeline &timeline, std::uint64_t seq, const Activity &activity) {
        timeline.changes.push_back({seq, activity});
    };
    while (row.step()) {
        const std::uint64_t seq = row.number(0);
        const std::string_view kind = row.text(1);
        const std::int64_t number = row.integer(2);
        const std::uint64_t process = row.number(3);
        Ongoing &its = ongoing[process];
        const bool begins = kind == "op_begin" || kind == "syscall_enter";
        if (kind == "op_begin") {
            its.begin_operation(seq, number);
            operations.insert(seq);
        } else if (kind == "op_end") {
            if (const auto begun = its.end_operation(number))
                operations.erase(*begun);
        } else if (kind == "syscall_enter") {
            its.enter_call(seq, number);
        } else if (kind == "syscall_exit") {
            its.leave_call(number);
        } else {
            its.end_all([&](std::uint64_t begun) { operations.erase(begun); });
        }
        // The marker itself belongs to what it begins or ends.
        const std::uint64_t first = begins ? seq : seq + 1;
        from(processes_[process], first, its.activity());
        Activity any;
        if (!operations.empty())
            any.operation = *operations.rbegin();
        from(all_, first, any);
    }
}

std::optional<std::uint64_t> EventContext::process(const Event &event) const
{
    if (event.site < sites_.size() && sites_[event.site].user)
        return sites_[event.site].address_space;
    if (event.stack < roots_.size() && roots_[event.stack].user)
        return roots_[event.stack].address_space;
    return std::nullopt;
}

Activity EventContext::activity(std::uint64_t seq, const Event &event) const
{
    Activity now;
    if (const std::optional<std::uint64_t> its = process(event)) {
        const auto timeline = processes_.find(*its);
        if (timeline != processes_.end())
            if (const Activity *known = timeline->second.at(seq))
                now = *known;
    }
    if (!now.operation)
        if (const Activity *any = all_.at(seq))
            now.operation = any->operation;
    return now;
}

} // namespace fencepost::trace
