// SPDX-License-Identifier: GPL-2.0-or-later
// What a crash image is worth: the verdict on one, and who gives it.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "guest-images/agent/job.h"
#include "guest-images/agent/protocol.h"
#include "replayer/oracle/details.h"
#include "replayer/run/promise.h"

namespace fencepost::guest {
class JudgedGuest;
}

namespace fencepost::oracle {

// In ascending order of weight, but for infra_error: see add_evidence().
enum class Verdict {
    pass,
    inconsistent,    // an oracle saw what must not be
    recovery_failed, // mount or the recovery command failed
    guest_hang,      // recovery did not end in time
    guest_crash,     // oops, BUG, panic, reboot
    infra_error,     // the harness failed: says nothing about the image, and is never a finding
};

const char *to_string(Verdict verdict);
// infra_error where there is none of that name.
Verdict verdict_named(std::string_view name);

// One oracle's word on one image.
struct Evidence {
    std::string oracle;
    Verdict verdict = Verdict::pass;
    // One line that is the same whenever the same thing is wrong: no addresses, times or counts.
    std::string summary;
    Details details;
    // For people: operation, object, what is wrong. Of this image, so it may hold what `summary`
    // may not. Empty: the summary says it all.
    std::string title = {};
};

const std::string &title_of(const Evidence &evidence);

struct Judgement {
    Verdict verdict = Verdict::pass;
    std::vector<Evidence> evidence; // of the oracles that did not pass
    std::string kernel_log;         // from the start of this image's test
    // As it was recovered, without blocks. Nothing: of a pass unless that is wanted, or not asked
    // for.
    std::optional<agent::TreeDump> tree = {};
    double guest_seconds = 0;                            // in requests to the guest
    double oracle_seconds = 0;                           // in programs on the host
    std::vector<std::string> not_tried = {};             // "oracle: what, and why"
    std::optional<agent::SpaceUse> used_when_empty = {}; // nothing: not everything was removed
    unsigned masked = 0; // objections that were left out, because healthy images get them too
    // Not fit for another image: it crashed, complained, failed a mount or keeps one.
    bool guest_spent = false;
    bool guest_lost = false; // and answers no more
};

// The image's verdict is the gravest; an oracle that failed takes away nothing that others saw, so
// infra_error is the verdict only where nothing else is wrong.
void add_evidence(Judgement &judgement, Evidence evidence);

// Of a verdict other than pass: the first evidence that gives it.
const Evidence &deciding_evidence(const Judgement &judgement);

// The same thing is wrong, as far as can be told from what an oracle says.
bool same_failure(const Evidence &a, const Evidence &b);

// Not a pass, and not an infra_error, which says nothing.
bool is_failure(Verdict verdict);

// A guest that has the image in its PM and has not looked at it yet.
struct Subject {
    guest::JudgedGuest &guest;
    // What the guest has as PM, shared with it. To be read only: writes of others than the guest
    // are not undone.
    std::span<const std::filesystem::path> pm_files;
    std::uint64_t crash_seq = 0; // the first event that did not happen
    // How long it may take before it is called a hang; nothing: as long as the judge's own limit
    // says, which is also the most.
    std::optional<std::chrono::milliseconds> patience = {};
    bool crashed = true; // false: as a file system is without a crash; every objection is evidence
    bool keep_tree = false; // also of a pass
};

// A command or a folder of the user's that judges: what it makes of a torn write is not known.
enum class UserOracle {
    none,
    plain,
    progress, // it is told which operations have returned: it can tell whether they are there
};

// What a guest does with one image.
struct GuestWork {
    std::vector<agent::JobFile> files;              // that it needs before
    std::vector<agent::JudgeRequest> requests = {}; // in this order
};

// One for a whole test run, used by all workers at once.
class Judge {
public:
    virtual ~Judge() = default;

    Judge(const Judge &) = delete;
    Judge &operator=(const Judge &) = delete;

    // Once for each guest that was restored, before its first image.
    virtual void prepare(guest::JudgedGuest &) {}

    // For whoever has an image recovered without having it judged.
    virtual GuestWork work_about(std::uint64_t /*crash_seq*/) const { return {}; }

    // Equal numbers: an image is worth the same at both crash points, so that it is judged once.
    // What a workload has promised changes with its operations, and with it what an image may hold.
    virtual std::uint64_t expectation(std::uint64_t /*crash_seq*/) const { return 0; }

    // What is held against the file system; nothing: no oracle compares trees.
    virtual std::optional<run::ChosenPromise> promise() const { return std::nullopt; }
    virtual UserOracle user_oracle() const { return UserOracle::none; }

    // Whether judge() can tell what it objects to in images without a crash; mask() is then called
    // with that, once and before any other image.
    virtual bool has_baseline() const { return false; }
    virtual void mask(const std::vector<Evidence> &) {}
    // Likewise, with what those images used when they were empty.
    virtual void expect_space(const std::vector<agent::SpaceUse> &) {}

    // That a guest crashes, hangs or goes away is a verdict too. Throws for trouble of others.
    Judgement judge(const Subject &subject);

protected:
    Judge() = default;

    // Leaves the guest ready for another image, or spent, or throws a guest error. What is in
    // `judgement` by then of times and tree stays, unless the guest is gone.
    virtual void examine(const Subject &subject, Judgement &judgement) = 0;

    // A crash ends the test of the image, whatever was said before.
    static void end_with(Judgement crash, Judgement &judgement);
};

} // namespace fencepost::oracle
