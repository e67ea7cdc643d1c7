// SPDX-License-Identifier: GPL-2.0-or-later
// A trace analyzed as its user asks for it: settings, files for rules, and what the report leaves
// out.
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "analyzer/findings/report.h"
#include "analyzer/rules/order_ranges.h"
#include "analyzer/rules/settings.h"
#include "analyzer/rules/suppressions.h"
#include "analyzer/rules/transaction_table.h"
#include "base/source_text.h"

namespace fencepost::rules {

// What rules know about a program beyond its trace. Every mistake in a file is an Error(usage) with
// its line.
struct RuleFiles {
    std::vector<TransactionTable> transactions = built_in_transaction_tables();
    std::vector<TextLine> order = {};
    std::vector<Suppression> suppressions = {};

    // Files of any place.
    void add_transactions(const std::filesystem::path &file);
    void add_order(const std::filesystem::path &file);
    void add_suppressions(const std::filesystem::path &file);
    // Of all files together.
    OrderFile order_file() const { return parse_order_file(order); }
};

// Those of a spec. A file that an order file names must be below the order file's directory.
RuleFiles rule_files(std::span<const SourceText> transactions, std::span<const SourceText> order,
                     std::span<const SourceText> suppressions);

// An Error(usage) that lists the rules for a name that none of them has.
void check_rule_names(std::span<const std::string> names);

struct AnalysisRequest {
    Settings settings = {}; // of rules that exist
    RuleFiles files = {};
    bool show_known_code = false; // findings in third-party code reviewed as correct too
};

findings::Report analyze(const std::filesystem::path &trace, AnalysisRequest request);

} // namespace fencepost::rules
