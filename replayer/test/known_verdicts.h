// SPDX-License-Identifier: GPL-2.0-or-later
// What results.db says about states, for whoever would test them again.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "replayer/image/line_hash.h"
#include "replayer/oracle/judge.h"
#include "trace/database.h"

namespace fencepost::test {

class KnownVerdicts {
public:
    // Of a file that was checked. Also beside a test at work, of which it sees what is committed.
    explicit KnownVerdicts(const std::filesystem::path &results);

    struct Known {
        oracle::Verdict verdict = oracle::Verdict::pass;
        std::string finding = {};                      // empty: of a pass
        std::optional<oracle::Evidence> evidence = {}; // that gave the verdict
    };
    // Nothing: not tested, or not with an answer.
    std::optional<Known> find(const image::Hash128 &identity, std::uint64_t expectation);
    // Ids of states at that crash point that passed.
    std::vector<std::string> passes_at(std::uint64_t seq);
    // Id of its state with the earliest crash point; empty: it has none.
    std::string earliest_state(const std::string &finding);

private:
    trace::Database database_;
};

} // namespace fencepost::test
