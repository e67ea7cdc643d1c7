// SPDX-License-Identifier: GPL-2.0-or-later
// An oracle: what it asks a guest about an image, and what it says to the answer. One class and one
// file each; oracle_table.cpp names them all.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "guest-images/agent/job.h"
#include "guest-images/agent/protocol.h"
#include "replayer/oracle/judge.h"

namespace fencepost::oracle {

// The image that oracles are asked about; see Subject.
struct Question {
    std::uint64_t crash_seq = 0;
    bool crashed = true;
    std::chrono::milliseconds time_limit{0}; // for what a guest does with it
};

// The guest's answer to what all oracles wanted to know.
struct Hearing {
    const Question &question;
    const agent::JudgeRequest &request;
    const agent::JudgeReply &reply;
    bool starved = false; // the guest waited for a CPU of the host for most of the time limit
    bool closing = false; // see Oracle::looks_last()

    // nullptr: it did not fail.
    const agent::StepResult *failed(agent::JudgeStep step) const;
};

class GuestVisit;

enum class Phase { before, after };

// Where the file system is.
struct PmPart {
    std::filesystem::path file;
    std::uint64_t offset = 0;
    std::uint64_t size = 0;
};

// Used by all workers at once, but for what it learns from healthy images, before any other.
class Oracle {
public:
    // `step`: of the guest, that it judges. Oracles speak in the order of the steps, and where the
    // mount failed, only those of the mount do.
    Oracle(std::string name, agent::JudgeStep step) : name_(std::move(name)), step_(step) {}
    virtual ~Oracle() = default;

    Oracle(const Oracle &) = delete;
    Oracle &operator=(const Oracle &) = delete;

    const std::string &name() const { return name_; }
    agent::JudgeStep step() const { return step_; }

    // In the guest. One request about an image carries what all oracles want, so that it is one
    // round trip: ask() adds what is the same for all images, ask_about() what is not. `files`:
    // that each guest must have.
    virtual std::span<const agent::JobFile> files() const { return {}; }
    virtual void ask(agent::JudgeRequest &) const {}
    virtual void ask_about(const Question &, agent::JudgeRequest &) const {}
    virtual void judge(const Hearing &, Judgement &) const {}

    // It talks with the guest itself, which has recovered the image, unmounted it, and has mounted
    // it again: visit() instead of judge(). Before anybody tries the file system out.
    virtual bool visits() const { return false; }
    virtual void visit(GuestVisit &, Judgement &) const {}

    // On the host: the image as the power failure left it, before any guest has it, and as the
    // guest left it. False: it would have to, and cannot with this image, as `not_tried` says; it
    // then looks last.
    virtual bool look(Phase, const PmPart &, const Question &, Judgement &) const { return true; }
    // It needs to see all that was recovered, and sees it only when the guest is done: removing
    // everything is then a request of its own that closes the test.
    virtual bool looks_last() const { return false; }
    // The guest has worked with the file system, so its checkers are to look at what is left.
    virtual bool changes_image() const { return false; }

    // What it expects of an image is the same at crash points with equal numbers; nothing: at all.
    virtual std::optional<std::uint64_t> expectation(std::uint64_t /*crash_seq*/) const
    {
        return std::nullopt;
    }
    // That it holds against the file system; nullptr: none.
    virtual const run::ChosenPromise *promise() const { return nullptr; }
    // Whether it is one.
    virtual UserOracle user_oracle() const { return UserOracle::none; }

    // What was said about healthy images, and what those used when they were empty.
    void mask(const std::vector<Evidence> &objections);
    // False: it objected to a healthy image, and is not to be asked about others.
    bool is_trusted() const { return trusted_; }
    virtual void expect_space(const std::vector<agent::SpaceUse> &) {}

protected:
    // Evidence, unless a healthy image gets it too.
    void object(const Question &question, Evidence evidence, Judgement &judgement) const;
    // Of its objections to healthy images, what mask_key() makes of their summaries.
    const std::set<std::string> &masked() const { return masked_; }
    bool is_masked(const std::string &summary) const;

private:
    std::string name_;
    agent::JudgeStep step_;
    std::set<std::string> masked_;
    bool trusted_ = true;
};

// Whether the same is left out in crash images. Not what ends a test (a mount that fails, a crash,
// a hang), nor what the user's own recovery command says, nor what says nothing.
bool is_maskable(const Evidence &objection);
// Of a healthy image: whether the oracle that says it is left out from then on.
bool ends_trust(const Evidence &objection);

} // namespace fencepost::oracle
