// SPDX-License-Identifier: GPL-2.0-or-later
// Follows scopes through a trace: epochs and operations by markers, transactions by call stacks;
// and strands.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "analyzer/rules/call_paths.h"
#include "analyzer/rules/scope.h"
#include "analyzer/rules/transaction_table.h"
#include "trace/reader.h"

namespace fencepost::rules {

class ScopeTracker {
public:
    using Ended = std::function<void(Scope &)>;

    // `ended` is called before the event that shows that a scope is over.
    ScopeTracker(const symbols::CodeNames &code, const CallPaths &paths,
                 const std::vector<TransactionTable> &tables, Ended ended);

    // Whether event() and fence() have to be called for the next event.
    bool watching() const { return !tables_.empty() || !marked_.empty(); }
    // Whether a table looks at the bytes of stores.
    bool needs_values() const { return needs_values_; }
    // Before the event is applied. Markers go to marker().
    void event(std::uint64_t seq, const trace::Event &event,
               std::span<const std::byte> wide_values);
    // `ordering`: an order rule asks for what the fence guarantees.
    void fence(std::uint64_t seq, const trace::Event &event, const FenceResult &result,
               bool ordering);
    void marker(const trace::MarkerRow &row, const trace::Event &event);
    // After the last event.
    void finish(std::uint64_t seq, bool recording_ended);

    // The strand in which code runs; 0 = none.
    std::int64_t strand(const trace::Event &event) const;
    const std::vector<Scope> &operations() const { return operations_; }
    bool belongs(const Scope &scope, const trace::Event &event) const
    {
        return code_.address_space(event.site) == scope.process &&
               (scope.process != 0 || event.vcpu == scope.vcpu);
    }
    // Whether the code that executes an event is in a transaction of a table.
    bool in_transaction(const trace::Event &event) const;
    // Sentences about markers and transactions that do not fit together.
    std::vector<std::string> take_statements() { return std::move(statements_); }

private:
    // What code in a stack means to a table.
    static constexpr unsigned kBegin = 1;
    static constexpr unsigned kLog = 2;
    static constexpr unsigned kCommit = 4;
    static constexpr unsigned kAbort = 8;
    static constexpr unsigned kOwn = 16;
    static constexpr unsigned kFree = 32;
    static constexpr unsigned kAlloc = 64;

    struct OpenTransaction {
        std::uint64_t thread;
        Scope scope;
        // The log entry whose words are being written.
        std::uint64_t entry_address = 0;
        std::uint64_t entry_offset = 0;
        std::uint64_t entry_size = 0;
        unsigned entry_words = 0;
    };
    struct Table {
        const TransactionTable *table;
        std::vector<std::uint8_t> site_roles;
        std::vector<std::uint8_t> stack_roles;
        std::vector<OpenTransaction> open;
        std::uint64_t never_committed = 0;
    };
    struct Strand {
        std::uint64_t process;
        std::uint16_t vcpu;
        std::int64_t number;
        std::uint64_t seq;
    };

    // Threads are told apart by their outermost function and by the vCPU they run on.
    std::uint64_t thread_of(const trace::Event &event) const
    {
        return std::uint64_t{paths_.root(event.site, event.stack)} << 16 | event.vcpu;
    }
    void add_table(const TransactionTable &table);
    void follow(Table &table, std::uint64_t seq, const trace::Event &event,
                std::span<const std::byte> wide_values);
    void note_log_entry(OpenTransaction &open, std::uint64_t seq, const trace::Event &event,
                        std::span<const std::byte> wide_values);
    void add_write(Scope &scope, std::uint64_t seq, const trace::Event &event);
    void marked_epoch(const trace::MarkerRow &row, const trace::Event &event);
    void operation(const trace::MarkerRow &row, const trace::Event &event);
    void strand_marker(const trace::MarkerRow &row, const trace::Event &event);
    void state(const std::string &what, std::uint64_t seq);

    const symbols::CodeNames &code_;
    const CallPaths &paths_;
    Ended ended_;
    std::vector<Table> tables_; // those with a function in this trace
    bool needs_values_ = false;
    std::vector<Scope> marked_;
    std::vector<Scope> operations_;
    std::vector<Strand> strands_;
    std::vector<std::string> statements_;
    std::map<std::string, std::uint64_t> told_; // how often each kind of sentence was due
};

} // namespace fencepost::rules
