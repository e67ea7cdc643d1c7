// SPDX-License-Identifier: GPL-2.0-or-later
// Order rules of the user: `persist A before B [in op X]`, and where A and B are.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "analyzer/rules/field_layout.h"
#include "analyzer/rules/line_table.h"
#include "analyzer/rules/scope_tracker.h"
#include "analyzer/rules/text_lines.h"
#include "trace/reader.h"

namespace fencepost::rules {

// Part of a named range or of a region.
struct RangeReference {
    std::string text; // as the user wrote it
    std::string name;
    std::vector<std::string> fields = {}; // of a struct
    std::uint64_t offset = 0;
    std::optional<std::uint64_t> size = {}; // none: to the end
};

struct OrderRule {
    TextLine line;
    std::string text;
    RangeReference first;
    RangeReference second;
    std::string operation = {}; // number or glob of its text; empty = anywhere
};

struct OrderFile {
    std::vector<OrderRule> rules;
    std::vector<FieldSource> types; // what ranges are made of
};

// A mistake is an Error(usage) with its line.
OrderFile parse_order_file(const std::vector<TextLine> &lines);

struct OrderViolation {
    const OrderRule &rule;
    Origin first; // the write that is not guaranteed
    std::uint64_t line;
    bool flushed = false;
    bool non_temporal = false;
    bool relies_on_lock = false;
    bool crosses_strands = false;
    bool settled_elsewhere = false; // guaranteed, but by a fence of another strand
    std::int64_t first_strand = 0;
    std::int64_t second_strand = 0;
};

class OrderRanges {
public:
    // Names that the trace does not have are an Error(usage) with their line.
    OrderRanges(OrderFile file, const trace::TraceReader &reader);

    bool empty() const { return rules_.empty(); }
    bool asks_for_operations() const;
    // A range marker was reached.
    void bind(const trace::MarkerRow &row);
    // Rules that a store breaks; before it is applied.
    void for_each_violation(const trace::Event &store, const LineTable &lines,
                            const ScopeTracker &scopes,
                            const std::function<void(const OrderViolation &)> &visit) const;
    // For strands: who wrote a range last and whose fence guaranteed it.
    void note_store(std::uint64_t seq, const trace::Event &store, std::int64_t strand);
    void note_settled(std::uint64_t line, std::int64_t strand);
    // Whether a fence that guarantees something of this line is there for a rule's sake.
    bool orders(std::uint64_t line) const;
    // Ranges that are not in PM.
    std::vector<std::string> take_statements() { return std::move(statements_); }

private:
    struct Part {
        std::uint64_t address;
        std::uint64_t size;
        bool overlaps(std::uint64_t at, std::uint64_t bytes) const
        {
            return at < address + size && address < at + bytes;
        }
    };
    struct Bound {
        std::vector<Part> first;
        std::vector<Part> second;
    };
    struct StrandNote {
        std::int64_t written = 0;
        std::int64_t settled = 0;
        bool is_settled = false;
        Origin origin = {};
    };

    bool holds_in(const OrderRule &rule, const ScopeTracker &scopes) const;
    std::vector<Part> parts_of(const RangeReference &reference, const trace::Marker &marker) const;
    void bind_regions(const trace::TraceReader &reader);
    void check_names(const trace::TraceReader &reader) const;

    std::vector<OrderRule> rules_;
    std::vector<Bound> bound_; // by rule
    FieldLayouts layouts_;
    std::vector<trace::Region> regions_;
    std::unordered_map<std::uint64_t, StrandNote> strands_; // by line of a first range
    std::vector<std::string> statements_;
};

} // namespace fencepost::rules
