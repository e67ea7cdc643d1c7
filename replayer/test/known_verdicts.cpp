// SPDX-License-Identifier: GPL-2.0-or-later
// See known_verdicts.h.
#include "replayer/test/known_verdicts.h"

#include <array>
#include <cstring>
#include <span>
#include <string_view>

namespace fencepost::test {

using oracle::Verdict;
using trace::Statement;

namespace {

constexpr std::int64_t kMostPasses = 32;

} // namespace

states::CrashState kept_state(const std::filesystem::path &results, std::string_view id)
{
    try {
        return states::parse_crash_state(id);
    } catch (const Error &) {
        fail(ErrorKind::trace,
             "{} is damaged: '{}' is not the id of a crash state; fencepost test --restart forgets "
             "it and tests anew",
             results.string(), id);
    }
}

KnownVerdicts::KnownVerdicts(const std::filesystem::path &results)
    : path_(results), database_(results, SQLITE_OPEN_READONLY, trace::FileKind::test_results)
{
}

std::optional<KnownVerdicts::Known> KnownVerdicts::find(const image::Hash128 &identity,
                                                        std::uint64_t expectation)
{
    std::array<std::byte, 16> blob;
    std::memcpy(blob.data(), &identity.low, 8);
    std::memcpy(blob.data() + 8, &identity.high, 8);
    Statement row(database_.get(),
                  "SELECT number, verdict, finding FROM image WHERE identity = ? AND expectation = "
                  "? AND verdict IS NOT NULL");
    row.bind(1, std::span<const std::byte>(blob)).bind(2, expectation);
    if (!row.step())
        return std::nullopt;
    Known known = {.verdict = oracle::verdict_named(row.text(1))};
    if (known.verdict == Verdict::infra_error)
        return std::nullopt;
    known.finding = row.optional_text(2).value_or("");
    Statement evidence(database_.get(),
                       "SELECT oracle, summary FROM evidence WHERE image = ? AND verdict = ? ORDER "
                       "BY rowid");
    evidence.bind(1, row.number(0)).bind(2, std::string_view(to_string(known.verdict)));
    if (evidence.step()) {
        known.evidence.emplace();
        known.evidence->oracle = evidence.text(0);
        known.evidence->verdict = known.verdict;
        known.evidence->summary = evidence.text(1);
    }
    return known;
}

std::vector<states::CrashState> KnownVerdicts::passes_at(std::uint64_t seq)
{
    std::vector<states::CrashState> states;
    Statement rows(database_.get(),
                   "SELECT origin.state FROM origin JOIN image ON image.number = origin.image "
                   "WHERE origin.seq = ? AND image.verdict = 'pass' LIMIT ?");
    rows.bind(1, seq).bind(2, kMostPasses);
    while (rows.step())
        states.push_back(kept_state(path_, rows.text(0)));
    return states;
}

std::optional<states::CrashState> KnownVerdicts::earliest_state(const std::string &finding)
{
    Statement row(database_.get(),
                  "SELECT origin.state FROM image JOIN origin ON origin.image = image.number WHERE "
                  "image.finding = ? ORDER BY origin.seq, origin.state LIMIT 1");
    row.bind(1, std::string_view(finding));
    if (!row.step())
        return std::nullopt;
    return kept_state(path_, row.text(0));
}

} // namespace fencepost::test
