// SPDX-License-Identifier: GPL-2.0-or-later
// A detection rule: what it is called, what it wants to hear of, and what it says.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "analyzer/findings/finding.h"
#include "analyzer/rules/line_table.h"
#include "analyzer/rules/scope.h"
#include "analyzer/rules/settings.h"
#include "analyzer/symbols/code_names.h"

namespace fencepost::rules {

class CallPaths;
class FindingList;
class ScopeTracker;
class OrderRanges;

using findings::Severity;

struct RuleInfo {
    std::string_view name;
    std::string_view sentence;
    Severity severity;
    std::string_view certainty; // why it is certain, or when it is not
    std::string_view silence;   // how to silence it where it does not apply
};

// The callbacks a rule wants. Stores are the common case: few rules hear of each.
using Wants = unsigned;
inline constexpr Wants kStores = 1;     // every store
inline constexpr Wants kTornStores = 2; // single stores that are more than one unit
inline constexpr Wants kOverwrites = 4; // stores over bytes in flight
inline constexpr Wants kFlushes = 8;    // flushes of a line
inline constexpr Wants kFences = 16;    // fences that count
inline constexpr Wants kSettled = 32;   // what a fence guarantees
inline constexpr Wants kScopes = 64;    // ends of scopes
inline constexpr Wants kInFlight =
    128; // what is in flight at the end of the run, or of an operation that must be durable
inline constexpr Wants kFinish = 256; // after the last event

struct StoreSeen {
    std::uint64_t seq;
    const trace::Event &event;
    bool in_transaction = false; // known for torn stores only
    Origin origin() const { return {seq, event.site, event.stack}; }
};

struct OverwriteSeen {
    std::uint64_t seq;
    const trace::Event &event;
    const WrittenLine &line;
    unsigned unit; // the first that is written over
};

struct FlushSeen {
    std::uint64_t seq;
    const trace::Event &event;
    const FlushResult &result;
};

struct FenceSeen {
    std::uint64_t seq;
    const trace::Event &event;
    const FenceResult &result;
};

struct InFlightSeen {
    const WrittenLine &line;
    unsigned unit;          // of a write that has not been reported
    const Scope *operation; // null: the end of the run
};

// What rules share.
struct RuleContext {
    const Settings &settings;
    const symbols::CodeNames &code;
    const CallPaths &paths;
    LineTable &lines;
    OrderRanges &order;
    const ScopeTracker &scopes;
    FindingList &findings;
};

class Rule {
public:
    explicit Rule(const RuleContext &context) : context_(context) {}
    virtual ~Rule() = default;
    Rule(const Rule &) = delete;
    Rule &operator=(const Rule &) = delete;

    virtual const RuleInfo &info() const = 0;
    // Under the settings in force; 0: the rule has nothing to say.
    virtual Wants wants() const = 0;

    virtual void store(const StoreSeen &) {}
    virtual void torn_store(const StoreSeen &) {}
    virtual void overwrite(const OverwriteSeen &) {}
    virtual void flush(const FlushSeen &) {}
    virtual void fence(const FenceSeen &) {}
    // Before the units leave the table.
    virtual void settled(const FenceSeen &, const WrittenLine &, std::uint8_t) {}
    virtual void scope_end(const Scope &) {}
    virtual void in_flight(const InFlightSeen &) {}
    virtual void finish() {}

protected:
    const RuleContext &context_;
};

// All rules, in the order of the reference page.
std::vector<std::unique_ptr<Rule>> make_rules(const RuleContext &context);
const std::vector<const RuleInfo *> &all_rules();

} // namespace fencepost::rules
