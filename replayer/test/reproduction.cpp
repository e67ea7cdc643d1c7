// SPDX-License-Identifier: GPL-2.0-or-later
// See reproduction.h.
#include "replayer/test/reproduction.h"

#include <algorithm>

#include "base/error.h"
#include "replayer/states/crash_state.h"
#include "replayer/test/known_results.h"
#include "trace/reader.h"

namespace fencepost::test {

namespace {

constexpr std::uint64_t kMostDelta = std::uint64_t{2} << 30;

// Nothing: it was taken away, so it is made from the trace.
std::optional<image::ImageDelta> kept_delta(const run::RunFiles &files,
                                            const findings::Finding &finding)
{
    const std::optional<Folder> all = files.folder().below("findings");
    const std::optional<Folder> one = all ? all->below(finding.id) : std::nullopt;
    if (!one || one->kind_of("image.delta") == Folder::Kind::nothing)
        return std::nullopt;
    const std::string bytes = one->read("image.delta", kMostDelta);
    const std::string path = (files.findings() / finding.id / "image.delta").string();
    image::ImageDelta delta;
    try {
        delta = image::decode_delta(std::as_bytes(std::span(bytes)));
    } catch (const Error &error) {
        fail(error.kind(),
             "{} is damaged: {}; fencepost reproduce with the id of the state ({}) "
             "makes the image from the trace",
             path, error.what(), finding.state);
    }
    if (delta.state != finding.state)
        fail(ErrorKind::trace, "{} is not the image of the finding: it is that of state {}", path,
             delta.state);
    return delta;
}

// An id of a state has parts, and that of a finding has none.
bool is_state_id(const std::string &name)
{
    return name.find('-') != std::string::npos;
}

} // namespace

NamedState named_state(const run::RunFiles &files, const std::string &name, StateRequest chosen)
{
    NamedState named = {.request = std::move(chosen)};
    named.request.state = name;
    if (is_state_id(name))
        states::parse_crash_state(name);
    if (is_state_id(name) && !has_results(files))
        return named;
    KnownResults known(files, trace::TraceReader(files.trace()).recording().event_digest);
    if (named.request.oracles.empty())
        named.request.oracles = known.oracles();
    named.request.baseline = known.baseline();
    if (is_state_id(name))
        return named;
    named.finding = known.finding(name);
    if (named.finding->state.empty())
        fail(ErrorKind::usage,
             "the finding {} is of the workload itself, which failed without a power failure: "
             "there is no image to recover from",
             name);
    named.request.state = named.finding->state;
    named.request.delta = kept_delta(files, *named.finding);
    return named;
}

bool fails_as(const findings::Finding &finding, const oracle::Judgement &judgement)
{
    return std::any_of(
        judgement.evidence.begin(), judgement.evidence.end(), [&](const oracle::Evidence &now) {
            const std::string verdict = to_string(now.verdict);
            if (now.oracle == finding.oracle && verdict == finding.verdict &&
                now.summary == finding.summary)
                return true;
            return std::any_of(finding.evidence.begin(), finding.evidence.end(),
                               [&](const findings::Evidence &then) {
                                   return now.oracle == then.oracle && verdict == then.verdict &&
                                          now.summary == then.summary;
                               });
        });
}

std::size_t Reproduction::failed() const
{
    return static_cast<std::size_t>(
        std::count_if(attempts.begin(), attempts.end(),
                      [](const Attempt &each) { return is_failure(each.judgement.verdict); }));
}

std::size_t Reproduction::as_found() const
{
    return static_cast<std::size_t>(std::count_if(
        attempts.begin(), attempts.end(), [](const Attempt &each) { return each.as_found; }));
}

const Attempt &Reproduction::shown() const
{
    const auto weight = [](const Attempt &each) {
        return each.as_found ? 2 : is_failure(each.judgement.verdict) ? 1 : 0;
    };
    return *std::max_element(
        attempts.begin(), attempts.end(),
        [&](const Attempt &a, const Attempt &b) { return weight(a) < weight(b); });
}

int Reproduction::exit_code() const
{
    if (failed() != 0)
        return 1;
    const bool judged = std::all_of(attempts.begin(), attempts.end(), [](const Attempt &each) {
        return each.judgement.verdict == oracle::Verdict::pass;
    });
    return judged ? 0 : 4;
}

Reproduction reproduce(JudgedState &state, const std::optional<findings::Finding> &finding,
                       unsigned times, const std::function<void(const Attempt &)> &told)
{
    CHECK(times != 0, "a state is tested at least once");
    Reproduction result;
    for (unsigned i = 0; i < times; ++i) {
        Attempt attempt = {.judgement = state.judge()};
        attempt.as_found =
            finding ? fails_as(*finding, attempt.judgement) : is_failure(attempt.judgement.verdict);
        told(attempt);
        result.attempts.push_back(std::move(attempt));
    }
    return result;
}

} // namespace fencepost::test
