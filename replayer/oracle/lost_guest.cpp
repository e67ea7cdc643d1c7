// SPDX-License-Identifier: GPL-2.0-or-later
// See lost_guest.h.
#include "replayer/oracle/lost_guest.h"

#include <nlohmann/json.hpp>

#include "replayer/guest/judged/guest_lost.h"
#include "replayer/guest/judged/judged_guest.h"
#include "replayer/oracle/log_watch.h"

namespace fencepost::oracle {

using guest::GuestEnd;
using nlohmann::json;

namespace {

// For the rest of an oops to arrive: its stack comes in many records.
constexpr std::chrono::milliseconds kTellingTime(1000);
constexpr std::size_t kConsoleLimit = 16 << 10;
constexpr std::size_t kWordsLimit = 200;

std::string end_of(const std::string &text)
{
    return text.size() <= kConsoleLimit ? text : text.substr(text.size() - kConsoleLimit);
}

// Of this image's test only: a warm guest had others before.
std::string log_of(const guest::JudgedGuest &guest)
{
    return guest::records_after(guest.kernel_log(), guest.judged_records());
}

Judgement of_crash(const guest::JudgedGuest &guest, const guest::KernelCrash &crash)
{
    Judgement judgement;
    judgement.guest_spent = true;
    judgement.kernel_log = log_of(guest);
    // A kernel that panicked has told it to its console alone.
    if (!guest::find_kernel_crash(judgement.kernel_log))
        judgement.kernel_log += end_of(guest.console());
    add_evidence(judgement, {"mount", Verdict::guest_crash, crash.title,
                             Details(json{{"line", crash.line},
                                          {"function", crash.function},
                                          {"stack", crash.stack}})});
    return judgement;
}

const char *doing(agent::JudgeStep step)
{
    switch (step) {
    case agent::JudgeStep::mount:
        return "mount";
    case agent::JudgeStep::dump:
        return "reading the tree";
    case agent::JudgeStep::command:
        return "the recovery command";
    case agent::JudgeStep::usable:
        return "using the file system";
    case agent::JudgeStep::unmount:
        return "unmount";
    case agent::JudgeStep::remove:
        return "removing everything";
    }
    return "a step";
}

// Without the limit, which depends on how long healthy images took.
std::string title_of_hang(std::optional<agent::JudgeStep> step, const std::string &log)
{
    std::string text = step ? fmt::format("{} did not end in its time", doing(*step))
                            : "the guest did not answer in time";
    const std::string words = guest::last_kernel_words(log);
    if (!words.empty())
        text += fmt::format("; last kernel message: {}", words.substr(0, kWordsLimit));
    return text;
}

Evidence evidence_of(GuestEnd end)
{
    switch (end) {
    case GuestEnd::powered_off:
        return {"guest", Verdict::guest_crash, "the guest powered itself off", {}};
    case GuestEnd::rebooted:
        return {"guest", Verdict::guest_crash, "the guest rebooted", {}};
    case GuestEnd::panicked:
        return {"guest", Verdict::guest_crash, "the guest's kernel panicked", {}};
    case GuestEnd::crashed:
        return {"guest", Verdict::guest_crash, "the guest's kernel crashed", {}};
    case GuestEnd::hung:
        return {"guest", Verdict::guest_hang, "the guest did not answer in time", {}};
    case GuestEnd::agent_broken:
        return {"guest", Verdict::infra_error, "the guest answered nonsense", {}};
    case GuestEnd::machine_died:
        break;
    }
    return {"guest", Verdict::infra_error, "QEMU died", {}};
}

// That the server died is the image's doing: an oops kills the process whose system call it is in.
Evidence evidence_without_end(bool server_died)
{
    if (server_died)
        return {"guest", Verdict::guest_crash, "the process that looked at the image died", {}};
    return {"guest", Verdict::infra_error, "the guest could not be judged", {}};
}

} // namespace

Judgement judge_lost(const guest::JudgedGuest &guest, const Error &why)
{
    const auto *lost = dynamic_cast<const guest::GuestLost *>(&why);
    const auto *agent = dynamic_cast<const guest::AgentLost *>(&why);
    const bool gone = !agent && !(lost && lost->end() == GuestEnd::crashed);
    // A machine that was killed, or a channel that broke, is no crash, whatever was logged before.
    const bool may_have_crashed =
        lost ? lost->end() != GuestEnd::machine_died && lost->end() != GuestEnd::agent_broken
             : agent != nullptr;
    if (may_have_crashed) {
        // What may still come: the end of an oops that was seen, or that which killed the server.
        const bool expected = agent || lost->end() == GuestEnd::crashed;
        const auto crash =
            guest.wait_for_crash(expected ? kTellingTime : std::chrono::milliseconds(0));
        if (crash) {
            Judgement judgement = of_crash(guest, *crash);
            judgement.guest_lost = gone;
            judgement.evidence[0].details["message"] = why.what();
            return judgement;
        }
    }
    Judgement judgement;
    judgement.guest_spent = true;
    judgement.guest_lost = gone;
    judgement.kernel_log = log_of(guest);
    Evidence evidence = lost ? evidence_of(lost->end()) : evidence_without_end(agent);
    if (evidence.verdict == Verdict::guest_hang) {
        evidence.title = title_of_hang(lost->step(), judgement.kernel_log);
        evidence.summary = without_numbers(evidence.title);
    }
    evidence.details = Details(json{{"message", why.what()}, {"console", end_of(guest.console())}});
    add_evidence(judgement, std::move(evidence));
    return judgement;
}

std::optional<Judgement> judge_crash(const guest::JudgedGuest &guest, std::string_view log)
{
    auto crash = guest::find_kernel_crash(log);
    if (!crash)
        return std::nullopt;
    // The agent may have answered while the kernel was still telling it.
    if (!crash->complete)
        if (auto whole = guest.wait_for_crash(kTellingTime))
            crash = whole;
    Judgement judgement = of_crash(guest, *crash);
    if (!guest::find_kernel_crash(judgement.kernel_log))
        judgement.kernel_log = log;
    return judgement;
}

std::string words_of_hang(const Judgement &judgement)
{
    return deciding_evidence(judgement).summary;
}

} // namespace fencepost::oracle
