// SPDX-License-Identifier: GPL-2.0-or-later
// See triage.h.
#include "replayer/test/triage.h"

#include <iterator>
#include <utility>

#include "analyzer/findings/site_name.h"
#include "base/error.h"
#include "replayer/test/finding_files.h"

namespace fencepost::test {

using oracle::Verdict;

namespace {

constexpr std::size_t kMostPasses = 64; // kept of a crash point

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
    return may_ask_ && failure.outcome.failed && failure.outcome.repeats && !hangs_long &&
           !stopped_ && !deadline_.passed();
}

void Triage::expect(std::uint64_t image, std::uint64_t seq)
{
    numbers_[image] = turns_before_ + turns_.size();
    turns_.push_back({.image = image, .seq = seq});
    std::erase_if(passes_, [&](const auto &point) {
        return point.first != turns_.front().seq && point.second.rbegin()->first < turns_before_;
    });
}

std::uint64_t Triage::number_of(std::uint64_t image) const
{
    const auto number = numbers_.find(image);
    CHECK(number != numbers_.end(), "an image that is being tested");
    return number->second;
}

Triage::Turn &Triage::turn_of(std::uint64_t image)
{
    return turns_[number_of(image) - turns_before_];
}

void Triage::pass(std::uint64_t image, PassingState state)
{
    Turn &turn = turn_of(image);
    turn.judged = true;
    if (state.stores.in_flight) {
        auto &passes = passes_[turn.seq];
        passes.emplace(number_of(image), std::move(state));
        if (passes.size() > kMostPasses)
            passes.erase(std::prev(passes.end())); // the first ones are the same with any workers
    }
    advance();
}

void Triage::refuse(std::uint64_t image)
{
    turn_of(image).judged = true;
    advance();
}

// All that came before it at its crash point has its verdict, so that whoever is asked gets the
// same question whichever worker is done first.
bool Triage::passes_are_known(std::uint64_t image)
{
    const std::uint64_t place = number_of(image) - turns_before_;
    for (std::uint64_t before = place; before > 0; --before) {
        const Turn &other = turns_[before - 1];
        if (other.seq != turns_[place].seq)
            return true;
        if (!other.judged)
            return false;
    }
    return true;
}

std::vector<Neighbour> Triage::passes_before(const Turn &turn) const
{
    std::vector<Neighbour> found;
    const auto here = passes_.find(turn.seq);
    if (here == passes_.end())
        return found;
    const auto &stores = turn.failed->failure.outcome.failed->stores;
    for (const auto &[number, pass] : here->second)
        if (number < number_of(turn.image) && pass.stores.in_flight == stores.in_flight)
            found.push_back({pass.choice, pass.stores.present});
    return found;
}

void Triage::add(Failure failure)
{
    open_.insert(failure.outcome.image);
    Turn &turn = turn_of(failure.outcome.image);
    turn.judged = true;
    Explanation explanation;
    if (const auto &failed = failure.outcome.failed) {
        explanation.missing = in_flight(failed->stores, false);
        explanation.present = in_flight(failed->stores, true);
    }
    turn.failed = {std::move(failure), std::move(explanation)};
    // Its answer may be there when its turn comes.
    const oracle::Evidence &evidence = evidence_of(turn.failed->failure);
    if (may_ask(turn.failed->failure) && !asked_.contains(Grouping::key_of(evidence)) &&
        passes_are_known(turn.image) &&
        grouping_.explained_by(evidence, turn.failed->explanation).empty())
        ask(turn);
    advance();
}

void Triage::ask(Turn &turn)
{
    Failure &failure = turn.failed->failure;
    const oracle::Evidence &evidence = evidence_of(failure);
    asked_.insert(Grouping::key_of(evidence));
    turn.asked = true;
    std::vector<Neighbour> passes = passes_before(turn);
    pool_.ask({std::move(*failure.outcome.failed), evidence, std::move(passes), deadline_});
}

void Triage::take(Answer answer)
{
    Turn &turn = turn_of(answer.image);
    asked_.erase(Grouping::key_of(evidence_of(turn.failed->failure)));
    turn.answer = std::move(answer);
    advance();
}

void Triage::advance()
{
    while (!turns_.empty() && turns_.front().judged) {
        Turn &next = turns_.front();
        if (next.failed && !finish(next))
            return;
        numbers_.erase(next.image);
        turns_.pop_front();
        ++turns_before_;
    }
}

// False: it has to wait for an answer.
bool Triage::finish(Turn &turn)
{
    Case &failed = *turn.failed;
    if (may_ask(failed.failure) || turn.asked)
        failed.explanation.like =
            grouping_.explained_by(evidence_of(failed.failure), failed.explanation);
    const bool unknown = failed.explanation.like.empty() && !stopped_;
    if (unknown && !turn.asked && may_ask(failed.failure))
        ask(turn);
    if (turn.asked && !turn.answer && !stopped_)
        return false; // also if it is like another by now: who asks gets an answer
    if (turn.answer)
        explain(failed, *turn.answer);
    file(failed);
    return true;
}

void Triage::explain(Case &answered, const Answer &answer)
{
    desk_.results.put_probes(answer);
    if (!answered.explanation.like.empty())
        return;
    answered.explanation.decided = answer.decided;
    name_code(answered);
    answered.explanation.probing_failed = !answer.decided && !answer.gave_up;
}

std::vector<StoreInFlight> Triage::in_flight(const image::StateStores &state, bool present)
{
    std::set<std::tuple<trace::SiteId, trace::StackId, std::string_view>> seen;
    const auto stores = first_of_each_kind(state, present, [&](const trace::EventRef &store) {
        return seen.insert({store.site, store.stack, code_of(store).name}).second;
    });
    std::vector<StoreInFlight> found;
    for (const trace::EventRef &store : stores)
        found.push_back({store.site, code_of(store)});
    return found;
}

const StoreCode &Triage::code_of(const trace::EventRef &store)
{
    const std::string &operation = operations_.at(store.seq); // code without a name is called after
    const auto [known, is_new] = code_.try_emplace({store.site, store.stack, operation});
    StoreCode &code = known->second;
    if (is_new) {
        code.callers = findings::site_names(names_.place(store), operation);
        code.name = code.callers.front();
        code.callers.erase(code.callers.begin());
    }
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
    for (Turn &turn : turns_)
        if (turn.failed)
            finish(turn);
    turns_.clear();
    numbers_.clear();
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
