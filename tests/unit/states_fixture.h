// SPDX-License-Identifier: GPL-2.0-or-later
// A trace written as text, and the ids of the crash states that a walk over it generates.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "base/files.h"
#include "replayer/states/state_walk.h"
#include "tests/golden/trace_text.h"

namespace fencepost::states {

class Ids : public StateListener {
public:
    void event(std::uint64_t, const trace::Event &, std::span<const std::byte>,
               const model::InFlight &) override
    {
    }
    bool state(const StateView &state) override
    {
        ids.push_back(id_of(walk->crash_state(state)).substr(9));
        levels[ids.back()].assign(state.levels.exceptions.begin(), state.levels.exceptions.end());
        return ids.size() < limit;
    }
    void epoch(const EpochCount &epoch) override { epochs.push_back(epoch); }

    StateWalk *walk = nullptr;
    std::vector<std::string> ids; // without the trace's digits
    std::map<std::string, std::vector<ItemLevel>> levels;
    std::vector<EpochCount> epochs;
    std::size_t limit = SIZE_MAX;
};

class States : public testing::Test {
protected:
    trace::TraceReader made(std::string_view text) const
    {
        golden::write_trace(text, path());
        return trace::TraceReader(path());
    }
    std::filesystem::path path() const { return directory_.path() / "trace.db"; }

    static Ids walk(const trace::TraceReader &reader, WalkOptions options,
                    WalkReport *report = nullptr)
    {
        StateWalk walk(reader, std::move(options));
        Ids ids;
        ids.walk = &walk;
        const WalkReport done = walk.run(ids);
        if (report)
            *report = done;
        return ids;
    }
    static std::vector<std::string> ids(const trace::TraceReader &reader, std::string_view strategy,
                                        WalkOptions options = {})
    {
        options.strategies = parse_strategies(strategy);
        return walk(reader, std::move(options)).ids;
    }

    const TemporaryDirectory directory_{testing::TempDir(), "states"};
};

using List = std::vector<std::string>;

} // namespace fencepost::states
