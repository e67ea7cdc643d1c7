// SPDX-License-Identifier: GPL-2.0-or-later
// See scope_tracker.h.
#include "analyzer/rules/scope_tracker.h"

#include <algorithm>
#include <cstring>

#include <fmt/core.h>

namespace fencepost::rules {

using trace::Event;
using trace::EventKind;
using trace::MarkerKind;

namespace {

constexpr std::size_t kMostWrites = 1 << 20;
constexpr std::uint64_t kMostStatements = 3;
constexpr std::uint64_t kMostPm = 1ull << 44; // no PM is larger: saved bytes, not an entry

bool any_matches(const std::vector<std::string> &globs, const std::string &text)
{
    return std::any_of(globs.begin(), globs.end(),
                       [&](const std::string &glob) { return matches_glob(glob, text); });
}

} // namespace

ScopeTracker::ScopeTracker(const symbols::CodeNames &code, const CallPaths &paths,
                           const std::vector<TransactionTable> &tables, Ended ended)
    : code_(code), paths_(paths), ended_(std::move(ended))
{
    for (const TransactionTable &table : tables)
        add_table(table);
}

void ScopeTracker::add_table(const TransactionTable &table)
{
    std::vector<std::uint8_t> of_symbol(code_.symbols().size());
    bool occurs = false;
    for (std::size_t id = 1; id < of_symbol.size(); ++id) {
        const std::string &name = code_.symbols()[id].name;
        const unsigned roles = (any_matches(table.begin, name) ? kBegin : 0u) |
                               (any_matches(table.log, name) ? kLog : 0u) |
                               (any_matches(table.commit, name) ? kCommit : 0u) |
                               (any_matches(table.abort, name) ? kAbort : 0u) |
                               (any_matches(table.free, name) ? kFree : 0u) |
                               (any_matches(table.alloc, name) ? kAlloc : 0u);
        of_symbol[id] = static_cast<std::uint8_t>(roles);
        occurs |= roles != 0;
    }
    if (!occurs)
        return;
    std::map<std::string, bool> own_modules;
    const auto roles_of = [&](const std::string &module, std::uint32_t symbol) {
        const auto [own, added] = own_modules.emplace(module, false);
        if (added)
            own->second = any_matches(table.modules, module);
        return static_cast<std::uint8_t>((symbol < of_symbol.size() ? of_symbol[symbol] : 0) |
                                         (own->second ? kOwn : 0));
    };
    Table entry = {.table = &table, .site_roles = {}, .stack_roles = {}, .open = {}};
    for (const trace::SiteRow &row : code_.sites())
        entry.site_roles.push_back(roles_of(row.site.module, row.location.symbol));
    std::vector<std::uint8_t> of_frame;
    for (const trace::StackFrameRow &row : code_.frames())
        of_frame.push_back(roles_of(row.frame.module, row.location.symbol));
    entry.stack_roles.resize(code_.stacks().size());
    for (std::size_t id = 1; id < code_.stacks().size(); ++id) {
        const trace::Stack &stack = code_.stacks()[id];
        entry.stack_roles[id] = of_frame[stack.frame] | entry.stack_roles[stack.parent];
    }
    needs_values_ |= table.entry.has_value();
    tables_.push_back(std::move(entry));
}

void ScopeTracker::event(std::uint64_t seq, const Event &event,
                         std::span<const std::byte> wide_values)
{
    for (Table &table : tables_)
        follow(table, seq, event, wide_values);
    if (!event.is_store())
        return;
    for (Scope &scope : marked_)
        if (belongs(scope, event))
            add_write(scope, seq, event);
}

// Nested transactions leave no trace of their own that could be told apart, so the outermost one
// counts.
void ScopeTracker::follow(Table &table, std::uint64_t seq, const Event &event,
                          std::span<const std::byte> wide_values)
{
    const unsigned roles =
        (event.site < table.site_roles.size() ? table.site_roles[event.site] : 0u) |
        (event.stack < table.stack_roles.size() ? table.stack_roles[event.stack] : 0u);
    if ((roles & ~(kOwn | kFree)) == 0 && table.open.empty())
        return;
    const std::uint64_t thread = thread_of(event);
    auto open = std::find_if(table.open.begin(), table.open.end(),
                             [&](const OpenTransaction &one) { return one.thread == thread; });
    if (open != table.open.end() && open->scope.committing && !(roles & (kCommit | kAbort))) {
        open->scope.last_seq = seq;
        ended_(open->scope);
        table.open.erase(open);
        open = table.open.end();
    }
    if (open == table.open.end()) {
        const bool begins =
            roles & (kBegin | kLog | kAlloc) || (roles & kCommit && table.table->begin.empty());
        if (!begins)
            return;
        table.open.push_back({.thread = thread, .scope = {}});
        open = table.open.end() - 1;
        open->scope.kind = ScopeKind::transaction;
        open->scope.table = table.table;
        open->scope.process = code_.address_space(event.site);
        open->scope.vcpu = event.vcpu;
        open->scope.first_seq = seq;
    }
    Scope &scope = open->scope;
    scope.committing |= (roles & (kCommit | kAbort)) != 0;
    scope.aborted |= (roles & kAbort) != 0;
    scope.allocated |= (roles & kAlloc) != 0;
    if (roles & kFree)
        scope.last_free = seq;
    if (event.is_store()) {
        if (!(roles & kOwn))
            add_write(scope, seq, event);
        if (roles & kLog && table.table->entry)
            note_log_entry(*open, seq, event, wide_values);
    } else if (event.kind == EventKind::flush && roles & kCommit && event.has_address()) {
        scope.covered.push_back(event.first_line());
    }
}

bool ScopeTracker::in_transaction(const Event &event) const
{
    const std::uint64_t thread = thread_of(event);
    for (const Table &table : tables_)
        for (const OpenTransaction &open : table.open)
            if (open.thread == thread)
                return true;
    return false;
}

void ScopeTracker::note_log_entry(OpenTransaction &open, std::uint64_t seq, const Event &event,
                                  std::span<const std::byte> wide_values)
{
    constexpr unsigned kTag = 1;
    constexpr unsigned kOffset = 2;
    constexpr unsigned kSize = 4;
    const TransactionTable::Entry &entry = *open.scope.table->entry;
    const std::span<const std::byte> bytes = trace::value_of(event, wide_values);
    if (event.address % trace::kUnitBytes != 0 || event.last_line() != event.first_line())
        return;
    for (std::size_t done = 0; done + trace::kUnitBytes <= bytes.size();
         done += trace::kUnitBytes) {
        const std::uint64_t address = event.address + done;
        const unsigned at = address % entry.every;
        std::uint64_t word = 0;
        std::memcpy(&word, bytes.data() + done, sizeof word);
        if (at == 0) {
            open.entry_address = address;
            open.entry_words = (word & entry.tag_mask) == entry.tag ? kTag : 0;
            if (entry.bytes != 0)
                open.entry_words |= kSize;
        }
        if (!(open.entry_words & kTag) || open.entry_address != address - at)
            continue;
        if (at == entry.offset_at) {
            open.entry_offset = (at == 0 ? word & ~entry.tag_mask : word) * entry.unit;
            open.entry_words |= kOffset;
        }
        if (entry.bytes == 0 && at == entry.size_at) {
            open.entry_size = word;
            open.entry_words |= kSize;
        }
        if (open.entry_words != (kTag | kOffset | kSize))
            continue;
        open.entry_words = 0;
        const std::uint64_t size = entry.bytes != 0 ? entry.bytes : open.entry_size;
        if (size != 0 && size < kMostPm && open.entry_offset < kMostPm &&
            open.scope.log.size() < kMostWrites)
            open.scope.log.push_back(
                {open.entry_offset, size, event.first_line(), {seq, event.site, event.stack}});
    }
}

void ScopeTracker::add_write(Scope &scope, std::uint64_t seq, const Event &event)
{
    for (std::uint64_t line = event.first_line(); line <= event.last_line(); ++line) {
        const std::uint64_t start = std::max(event.address, line * trace::kLineBytes);
        const std::uint64_t end =
            std::min(event.address + event.size, (line + 1) * trace::kLineBytes);
        if (!scope.writes.empty()) {
            Scope::Write &last = scope.writes.back();
            if (last.line == line && last.origin.site == event.site &&
                last.origin.stack == event.stack) {
                last.address = std::min(last.address, start);
                last.end = std::max(last.end, end);
                continue;
            }
        }
        if (scope.writes.size() == kMostWrites) {
            scope.writes_cut = true;
            return;
        }
        scope.writes.push_back({line, {seq, event.site, event.stack}, start, end});
    }
}

void ScopeTracker::fence(std::uint64_t seq, const Event &event, const FenceResult &result,
                         bool ordering)
{
    if (result.lines == 0 || ordering)
        return;
    for (Scope &scope : marked_)
        if (belongs(scope, event))
            scope.fences.push_back({seq, event.site, event.stack});
}

void ScopeTracker::state(const std::string &what, std::uint64_t seq)
{
    const std::uint64_t times = ++told_[what];
    if (times <= kMostStatements)
        statements_.push_back(fmt::format("event {}: {}", seq, what));
    else if (times == kMostStatements + 1)
        statements_.push_back(fmt::format("event {} and later: {}", seq, what));
}

void ScopeTracker::marker(const trace::MarkerRow &row, const Event &event)
{
    switch (row.kind) {
    case MarkerKind::epoch:
        marked_epoch(row, event);
        break;
    case MarkerKind::strand_begin:
    case MarkerKind::strand_end:
        strand_marker(row, event);
        break;
    case MarkerKind::op_begin:
    case MarkerKind::op_end:
        operation(row, event);
        break;
    default:
        break;
    }
}

// Marker epoch N begins one, epoch 0 ends the one that began last.
void ScopeTracker::marked_epoch(const trace::MarkerRow &row, const Event &event)
{
    const auto open = std::find_if(marked_.begin(), marked_.end(), [&](const Scope &scope) {
        return scope.process == row.marker.process &&
               (scope.process != 0 || scope.vcpu == event.vcpu);
    });
    if (row.marker.number != 0) {
        if (open != marked_.end()) {
            ++open->depth;
            return;
        }
        Scope scope;
        scope.number = row.marker.number;
        scope.process = row.marker.process;
        scope.vcpu = event.vcpu;
        scope.first_seq = row.seq;
        marked_.push_back(std::move(scope));
        return;
    }
    if (open == marked_.end()) {
        state("an epoch ends that was not begun", row.seq);
        return;
    }
    if (--open->depth > 0)
        return;
    open->last_seq = row.seq;
    ended_(*open);
    marked_.erase(open);
}

void ScopeTracker::operation(const trace::MarkerRow &row, const Event &event)
{
    if (row.kind == MarkerKind::op_begin) {
        Scope scope;
        scope.kind = ScopeKind::operation;
        scope.number = row.marker.number;
        scope.text = row.marker.text;
        scope.process = row.marker.process;
        scope.vcpu = event.vcpu;
        scope.first_seq = row.seq;
        operations_.push_back(std::move(scope));
        return;
    }
    const auto open =
        std::find_if(operations_.rbegin(), operations_.rend(), [&](const Scope &scope) {
            return scope.number == row.marker.number && scope.process == row.marker.process;
        });
    if (open == operations_.rend()) {
        state("an operation ends that was not begun", row.seq);
        return;
    }
    open->last_seq = row.seq;
    ended_(*open);
    operations_.erase(std::next(open).base());
}

void ScopeTracker::strand_marker(const trace::MarkerRow &row, const Event &event)
{
    const auto open = std::find_if(strands_.rbegin(), strands_.rend(), [&](const Strand &strand) {
        return strand.process == row.marker.process &&
               (strand.process != 0 || strand.vcpu == event.vcpu);
    });
    if (row.kind == MarkerKind::strand_begin) {
        if (open != strands_.rend())
            state("a strand begins inside another one; the inner one counts until it ends",
                  row.seq);
        strands_.push_back({row.marker.process, event.vcpu, row.marker.number, row.seq});
    } else if (open == strands_.rend() || open->number != row.marker.number) {
        state("a strand ends that is not the one that began last", row.seq);
    } else {
        strands_.erase(std::next(open).base());
    }
}

std::int64_t ScopeTracker::strand(const Event &event) const
{
    const std::uint64_t process = code_.address_space(event.site);
    for (auto strand = strands_.rbegin(); strand != strands_.rend(); ++strand)
        if (strand->process == process && (process != 0 || strand->vcpu == event.vcpu))
            return strand->number;
    return 0;
}

void ScopeTracker::finish(std::uint64_t seq, bool recording_ended)
{
    const char *where = recording_ended ? "the trace ends" : "the recording was cut short";
    for (Table &table : tables_) {
        for (OpenTransaction &open : table.open) {
            open.scope.last_seq = seq;
            if (open.scope.committing && recording_ended)
                ended_(open.scope);
            else if (!open.scope.committing)
                state(fmt::format("{} inside a transaction of {} that has not committed; nothing "
                                  "is said about it",
                                  where, table.table->name),
                      open.scope.first_seq);
        }
    }
    for (const Scope &scope : marked_)
        state(
            fmt::format("an epoch begins here that is still open when {}; nothing is said about it",
                        where),
            scope.first_seq);
    for (const Scope &scope : operations_)
        state(fmt::format("an operation begins here that has not ended when {}", where),
              scope.first_seq);
    for (const Strand &strand : strands_)
        state(fmt::format("a strand begins here that has not ended when {}", where), strand.seq);
}

} // namespace fencepost::rules
