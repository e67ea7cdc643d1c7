// SPDX-License-Identifier: GPL-2.0-or-later
// A finding, or one crash state, tested again: does it fail again, and as it did?
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "analyzer/findings/finding.h"
#include "replayer/test/judged_state.h"

namespace fencepost::test {

// What the user named, and what is known about it.
struct NamedState {
    std::optional<findings::Finding> finding = {}; // nothing: a state was named
    StateRequest request;
};

// `name`: of a finding or a state; `chosen`: by the user, but for its state. Errors(usage) where
// there is neither: a finding's comes with the id that is nearest. What has become of the finding's
// image.delta is an Error(trace).
NamedState named_state(const run::RunFiles &files, const std::string &name, StateRequest chosen);

// The same is wrong as when the finding was found.
bool fails_as(const findings::Finding &finding, const oracle::Judgement &judgement);

struct Attempt {
    oracle::Judgement judgement;
    bool as_found = false; // it fails as the finding says; of a state: it fails
};

struct Reproduction {
    std::vector<Attempt> attempts;

    std::size_t failed() const;
    std::size_t as_found() const;
    // The first that fails as the finding says, else the first that fails, else the first.
    const Attempt &shown() const;
    // 1: it failed; 4: it did not, but not every attempt could be judged; 0: it passed.
    int exit_code() const;
};

Reproduction reproduce(JudgedState &state, const std::optional<findings::Finding> &finding,
                       unsigned times, const std::function<void(const Attempt &)> &told);

} // namespace fencepost::test
