// SPDX-License-Identifier: GPL-2.0-or-later
// Whether two images fail for the same cause, and what that cause is called.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "replayer/test/explanation.h"
#include "replayer/test/results.h"

namespace fencepost::test {

template <typename Value> bool has(const std::vector<Value> &values, const Value &value)
{
    return std::find(values.begin(), values.end(), value) != values.end();
}

// Verdicts that one cause can lead to: a damaged image is inconsistent, or cannot be recovered
// from.
std::string_view class_of(std::string_view verdict);

// One of these sites and functions: an agent's one site stores for many operations, a copy
// routine's for many functions.
bool is_one(const StoreInFlight &store, const std::vector<trace::SiteId> &sites,
            const std::vector<std::string> &code);
// One that decides by its presence; a store that was executed and is no longer in flight is
// guaranteed, and so there.
bool one_is_there(const Explanation &explanation, const findings::Finding &finding);

// Of a new finding: see findings::Finding.
std::string scope_of(const Explanation &explanation);
// What is lost had been flushed.
bool is_unfenced(const Explanation &explanation);
// The function that is to blame if not the one whose store decides: the one that has the order of
// both stores in its charge, or that the decisive store works for. Empty: the store's own function
// breaks its own order, or nobody knows.
std::string caller_to_blame(const Explanation &explanation);

// All four: of a finding of the same class, and an explanation that says what decides.

// What a flag stands for is in flight, and the finding is that the flag is set too early: all that
// decides is of the function that sets it or has it set, and the flag is guaranteed by now.
bool has_flag_already(const findings::Finding &finding, const Explanation &explanation);
// The same code decides, whatever the words for what it breaks.
bool same_cause(const findings::Finding &finding, const Explanation &explanation);
// Of the same words: the same store persists too early, though something else is lost.
bool same_flag(const findings::Finding &finding, const Explanation &explanation);
// It lacks what other images of the finding lack, and the store that decides by its presence is
// there, whatever else decides.
bool continues(const findings::Finding &finding, const Explanation &explanation);

// From names of code and what is wrong. First the id, then those that images of the same cause may
// have.
std::vector<std::string> cause_ids(const oracle::Evidence &evidence,
                                   const Explanation &explanation);
// Where that is the id of another finding; says more with each number.
std::string longer_cause_id(const std::string &id, const oracle::Evidence &evidence,
                            const Explanation &explanation, unsigned number);

} // namespace fencepost::test
