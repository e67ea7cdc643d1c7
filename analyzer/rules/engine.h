// SPDX-License-Identifier: GPL-2.0-or-later
// All rules over a trace in one pass: keeps the lines, follows the scopes, calls the rules that
// want to hear.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "analyzer/findings/report.h"
#include "analyzer/rules/call_paths.h"
#include "analyzer/rules/finding_list.h"
#include "analyzer/rules/order_ranges.h"
#include "analyzer/rules/rule.h"
#include "analyzer/rules/scope_tracker.h"
#include "analyzer/rules/settings.h"
#include "analyzer/rules/transaction_table.h"

namespace fencepost::rules {

class Engine {
public:
    // The reader must outlive the engine. `settings.rules` names rules that exist.
    Engine(const trace::TraceReader &reader, Settings settings,
           std::vector<TransactionTable> tables = {}, OrderFile order = {});

    // Reads the whole trace.
    findings::Report run();

    // Names of the rules that run under these settings.
    std::vector<std::string> running() const;
    // Bytes that are kept for lines, for the benchmark.
    const LineTable &lines() const { return lines_; }

private:
    void event(std::uint64_t seq, const trace::Event &event,
               std::span<const std::byte> wide_values);
    void store(std::uint64_t seq, const trace::Event &event);
    void look_for_single_store(std::uint64_t seq, const trace::Event &event);
    void tell_single_store();
    void flush(std::uint64_t seq, const trace::Event &event);
    void fence(std::uint64_t seq, const trace::Event &event);
    void block(std::uint64_t first_seq, std::span<const trace::Event> events,
               std::span<const std::byte> wide_values);
    void marker(const trace::MarkerRow &row, const trace::Event &event);
    void scope_ended(Scope &scope);
    void show_in_flight(const Scope *operation);
    void finish();
    std::vector<std::string> statements();

    const trace::TraceReader &reader_;
    Settings settings_;
    std::vector<TransactionTable> tables_;
    symbols::CodeNames code_;
    CallPaths paths_;
    LineTable lines_;
    OrderRanges order_;
    ScopeTracker scopes_;
    FindingList findings_;
    RuleContext context_;
    std::vector<std::unique_ptr<Rule>> rules_;
    // Those that want to hear, by what they want.
    std::vector<Rule *> store_rules_;
    std::vector<Rule *> torn_rules_;
    std::vector<Rule *> overwrite_rules_;
    std::vector<Rule *> flush_rules_;
    std::vector<Rule *> fence_rules_;
    std::vector<Rule *> settled_rules_;
    std::vector<Rule *> scope_rules_;
    std::vector<Rule *> in_flight_rules_;
    std::vector<Rule *> finish_rules_;
    struct SingleStore {
        bool valid = false;
        bool in_transaction = false;
        std::uint64_t seq = 0;
        trace::Event event = {};
    };
    SingleStore single_; // of several units, while the next store is not known
    std::uint64_t last_store_address_ = UINT64_MAX;
    std::uint64_t last_store_end_ = 0;
    std::uint32_t marker_kinds_ = 0; // bits of the kinds that matter
    std::uint64_t events_ = 0;
    std::uint64_t loads_ = 0;
    bool recording_ended_ = true;
};

} // namespace fencepost::rules
