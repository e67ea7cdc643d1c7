// SPDX-License-Identifier: GPL-2.0-or-later
// States of small traces that fail as a test wants it.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include <gtest/gtest.h>

#include "base/files.h"
#include "replayer/test/pool/deciding_stores.h"
#include "tests/golden/trace_text.h"
#include "tests/states/image_listener.h"

namespace fencepost::test {

using image::InFlightStores;
using image::PartChoice;
using image::StateImages;
using image::StateStores;
using states::StateView;

inline StateStores stores_of(const StateView &state)
{
    const auto in_flight = std::make_shared<InFlightStores>(*state.items);
    return {in_flight, in_flight->parts_of(state, *state.items)};
}

inline std::optional<Said> said(bool fails)
{
    return fails ? Said::fails_alike : Said::passes;
}

class DecidingStoresTest : public testing::Test {
protected:
    std::filesystem::path path() const { return directory_.path() / "trace.db"; }

    // Calls visit(state, images) for each state.
    void walk(const states::WalkOptions &options, const image::Listener::Visit &visit) const
    {
        const trace::TraceReader reader(path());
        const image::InitialImage initial(reader);
        image::Listener listener(initial, visit);
        states::StateWalk(reader, options).run(listener);
    }
    // The state of that choice at the end of the trace.
    StateStores state_of(const std::string &text, const std::string &choice) const
    {
        golden::write_trace(text, path());
        StateStores found;
        walk({.strategies = states::parse_strategies("none-all,subsets:2")},
             [&](const StateView &state, StateImages &) {
                 if (text_of(state.levels.choice()) == choice)
                     found = stores_of(state);
                 return true;
             });
        EXPECT_TRUE(found.in_flight) << "no state " << choice;
        return found;
    }

    const TemporaryDirectory directory_{testing::TempDir(), "deciding"};
};

// A record (events 0, 1, 2), a flag that says that it is there (3), something else (4), and
// something in a line that was written before (5).
inline constexpr const char *kRecordAndFlag = R"(
store pmem0+0x40 8 = 1 @head
store pmem0+0x80 8 = 2 @middle
store pmem0+0xc0 8 = 3 @tail
store pmem0+0x100 8 = 4 @flag
store pmem0+0x140 8 = 5 @other
store pmem0+0x48 8 = 6 @late
)";

// Whether the parts hold the store of that event.
inline bool holds(const StateStores &state, const PartChoice &parts, std::uint64_t seq)
{
    for (std::size_t i = 0; i < parts.size(); ++i)
        if (parts[i] && state.in_flight->stores()[state.in_flight->parts()[i].store].seq == seq)
            return true;
    return false;
}

inline std::optional<std::uint64_t> seq_of(const std::optional<trace::EventRef> &store)
{
    return store ? std::optional(store->seq) : std::nullopt;
}

} // namespace fencepost::test
