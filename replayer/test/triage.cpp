// SPDX-License-Identifier: GPL-2.0-or-later
// See triage.h.
#include "replayer/test/triage.h"

#include <utility>

#include "analyzer/findings/site_name.h"
#include "base/error.h"
#include "replayer/test/finding_files.h"

namespace fencepost::test {

using oracle::Verdict;

namespace {

const oracle::Evidence &evidence_of(const Failure &failure)
{
    return deciding_evidence(failure.outcome.judgement);
}

std::vector<findings::Evidence> evidence_in(const oracle::Judgement &judgement)
{
    std::vector<findings::Evidence> all;
    for (const oracle::Evidence &each : judgement.evidence)
        all.push_back({each.oracle, to_string(each.verdict), title_of(each), each.summary,
                       each.details.text()});
    return all;
}

} // namespace

Triage::Triage(const Desk &desk, WorkerPool &pool, const HangWatch &hangs, Deadline deadline)
    : desk_(desk), pool_(pool), hangs_(hangs), deadline_(deadline), names_(desk.reader),
      operations_(desk.reader), grouping_(desk.results.findings()),
      findings_(desk.results.findings().size()), bugs_(desk.results.bugs())
{
}

bool Triage::may_ask(const Failure &failure) const
{
    // Where nobody knows what healthy images take, a guest hangs for its whole time limit: too long
    // to be done again and again.
    const bool hangs_long = evidence_of(failure).verdict == Verdict::guest_hang &&
                            !hangs_.patience(HangWatch::GuestKind::restored);
    return failure.outcome.failed && failure.outcome.repeats && !hangs_long && !stopped_ &&
           !deadline_.passed();
}

void Triage::add(Failure failure)
{
    open_.insert(failure.outcome.image);
    Case next = {std::move(failure), {}};
    if (const auto &failed = next.failure.outcome.failed) {
        next.explanation.missing = first_of_each_site(failed->stores, false);
        next.explanation.present = first_of_each_site(failed->stores, true);
        for (const trace::EventRef &store : next.explanation.present)
            next.explanation.present_for.push_back(code_of(store).caller());
    }
    consider(std::move(next));
}

void Triage::consider(Case next)
{
    const oracle::Evidence &evidence = evidence_of(next.failure);
    if (!may_ask(next.failure)) {
        file(next);
        return;
    }
    next.explanation.like = grouping_.explained_by(evidence, next.explanation);
    if (!next.explanation.like.empty()) {
        file(next);
        return;
    }
    const std::string key = Grouping::key_of(evidence);
    Alike &alike = alike_[key];
    if (alike.asked) {
        alike.waiting.push_back(std::move(next));
        return;
    }
    asked_keys_[next.failure.outcome.image] = key;
    pool_.ask({std::move(*next.failure.outcome.failed), evidence, deadline_});
    alike.asked = std::move(next);
}

void Triage::take(const Answer &answer)
{
    const auto key = asked_keys_.find(answer.image);
    CHECK(key != asked_keys_.end(), "an answer to a question that was asked");
    Alike &alike = alike_[key->second];
    asked_keys_.erase(key);
    Case answered = std::move(*alike.asked);
    alike.asked.reset();
    answered.explanation.decided = answer.decided;
    name_code(answered);
    answered.explanation.probing_failed = !answer.decided && !answer.gave_up;
    desk_.results.put_probes(answer);
    file(answered);
    for (Case &each : std::exchange(alike.waiting, {}))
        consider(std::move(each));
}

StoreCode Triage::code_of(const trace::EventRef &store)
{
    const auto known = code_.find({store.site, store.stack});
    if (known != code_.end())
        return known->second;
    const symbols::EventPlace place = names_.place(store);
    std::vector<std::string> names = findings::site_names(place, operations_.at(store.seq));
    StoreCode code = {std::move(names.front())};
    names.erase(names.begin());
    code.callers = std::move(names);
    if (place.code.named) // else it may be called after its operation
        code_[{store.site, store.stack}] = code;
    return code;
}

void Triage::name_code(Case &answered)
{
    Explanation &explanation = answered.explanation;
    if (!explanation.decided)
        return;
    if (const auto &absent = explanation.decided->absent)
        explanation.absent_code = code_of(*absent);
    if (const auto &present = explanation.decided->present)
        explanation.present_code = code_of(*present);
    explanation.last = code_of(answered.failure.last_store);
}

void Triage::stop_asking()
{
    stopped_ = true;
    asked_keys_.clear();
    for (auto &[key, alike] : std::exchange(alike_, {})) {
        if (alike.asked)
            file(*alike.asked);
        for (const Case &each : alike.waiting)
            file(each);
    }
}

void Triage::file(const Case &filed)
{
    desk_.results.put_outcome(filed.failure.outcome, file_finding(filed));
    open_.erase(filed.failure.outcome.image);
}

std::string Triage::file_finding(const Case &filed)
{
    const auto &[failure, explanation] = filed;
    const oracle::Evidence &evidence = evidence_of(failure);
    auto [finding, shows] = grouping_.place(evidence, explanation);
    if (failure.architectural)
        bugs_.insert(finding.id);
    if (!shows) {
        desk_.results.add_to_finding(finding);
        return finding.id;
    }
    findings_ += finding.count == 1;
    finding.places.push_back(
        {.role = std::string(findings::kLast), .at = {.event = failure.last_store}});
    for (findings::Place &place : finding.places) {
        place.at = names_.place(place.at.event);
        place.operation = operations_.at(place.at.event.seq);
    }
    const bool is_bug = bugs_.contains(finding.id);
    finding.severity = is_bug ? findings::Severity::bug : findings::Severity::warning;
    finding.note = is_bug ? "" : findings::kIncidentalLock;
    finding.title = title_of(evidence);
    finding.evidence = evidence_in(failure.outcome.judgement);
    finding.image = failure.outcome.image;
    finding.state = failure.state;
    write_finding(desk_.run, desk_.reader, finding, failure.outcome.judgement, desk_.incidental);
    desk_.results.put_finding(finding);
    return finding.id;
}

} // namespace fencepost::test
