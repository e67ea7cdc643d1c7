// SPDX-License-Identifier: GPL-2.0-or-later
// See analysis.h.
#include "analyzer/rules/analysis.h"

#include <algorithm>
#include <iterator>

#include "analyzer/rules/engine.h"
#include "base/error.h"

namespace fencepost::rules {

namespace {

template <typename Row> void append(std::vector<Row> &rows, std::vector<Row> more)
{
    std::move(more.begin(), more.end(), std::back_inserter(rows));
}

// A spec's files stay below its directory, and what they name below theirs.
std::vector<TextLine> order_lines_of(const SourceText &source)
{
    std::vector<TextLine> lines = split_lines(source.text, source.name, source.directory);
    for (const FieldSource &type : parse_order_file(lines).types) {
        std::error_code error;
        const auto file = std::filesystem::weakly_canonical(type.file, error);
        const auto below = file.lexically_relative(source.directory);
        if (error || below.empty() || *below.begin() == "..")
            type.line.refuse("{} is not below {}", type.file, source.directory.string());
    }
    return lines;
}

} // namespace

void RuleFiles::add_transactions(const std::filesystem::path &file)
{
    append(transactions, parse_transaction_tables(read_lines(file)));
}

void RuleFiles::add_order(const std::filesystem::path &file)
{
    append(order, read_lines(file));
}

void RuleFiles::add_suppressions(const std::filesystem::path &file)
{
    append(suppressions, parse_suppressions(read_lines(file)));
}

RuleFiles rule_files(std::span<const SourceText> transactions, std::span<const SourceText> order,
                     std::span<const SourceText> suppressions)
{
    RuleFiles files;
    for (const SourceText &each : transactions)
        append(files.transactions, parse_transaction_tables(split_lines(each.text, each.name)));
    for (const SourceText &each : order)
        append(files.order, order_lines_of(each));
    for (const SourceText &each : suppressions)
        append(files.suppressions, parse_suppressions(split_lines(each.text, each.name)));
    return files;
}

void check_rule_names(std::span<const std::string> names)
{
    for (const std::string &name : names) {
        std::string there_are;
        bool found = false;
        for (const RuleInfo *rule : all_rules()) {
            found |= rule->name == name;
            there_are += (there_are.empty() ? "" : ", ") + std::string(rule->name);
        }
        if (!found)
            fail(ErrorKind::usage, "there is no rule '{}'; there are {}", name, there_are);
    }
}

findings::Report analyze(const std::filesystem::path &trace, AnalysisRequest request)
{
    OrderFile order = request.files.order_file(); // mistakes in it come first
    const trace::TraceReader reader(trace);
    findings::Report report = Engine(reader, std::move(request.settings),
                                     std::move(request.files.transactions), std::move(order))
                                  .run();
    if (!request.show_known_code)
        apply_known_code(report);
    apply(request.files.suppressions, report);
    return report;
}

} // namespace fencepost::rules
