// SPDX-License-Identifier: GPL-2.0-or-later
// What results.db says about states, for whoever would test them again.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "replayer/image/line_hash.h"
#include "replayer/oracle/judge.h"
#include "replayer/states/crash_state.h"
#include "trace/database.h"

namespace fencepost::test {

// What is asked with an id of a state out of results.db: there it is no mistake of the user's, but
// Error(trace), that the file is damaged.
template <typename Work> auto with_kept_state(const std::filesystem::path &results, Work &&work)
{
    try {
        return work();
    } catch (const Error &error) {
        if (error.kind() != ErrorKind::usage)
            throw;
        fail(ErrorKind::trace,
             "{} is damaged: {}; fencepost test --restart forgets it and tests anew",
             results.string(), error.what());
    }
}

// An id out of results.db.
states::CrashState kept_state(const std::filesystem::path &results, std::string_view id);

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
    // States at that crash point that passed.
    std::vector<states::CrashState> passes_at(std::uint64_t seq);
    // Its state with the earliest crash point, if it has one.
    std::optional<states::CrashState> earliest_state(const std::string &finding);

private:
    const std::filesystem::path path_;
    trace::Database database_;
};

} // namespace fencepost::test
