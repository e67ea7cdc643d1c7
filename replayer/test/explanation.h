// SPDX-License-Identifier: GPL-2.0-or-later
// Why an image fails, as far as it is known.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "replayer/oracle/judge.h"
#include "replayer/test/pool/deciding_stores.h"

namespace fencepost::test {

// Whose code a store is: see findings::site_names().
struct StoreCode {
    std::string name = {};
    std::vector<std::string> callers = {}; // for whom it works, from the inside out

    std::string caller() const { return callers.empty() ? "" : callers.front(); }
};

struct StoreInFlight {
    trace::SiteId site = 0;
    StoreCode code = {};
};

struct Explanation {
    // The first store of each site, stack and name that was in flight, and is missing in the image
    // or there.
    std::vector<StoreInFlight> missing = {};
    std::vector<StoreInFlight> present = {};
    // What tests of states like it say; nothing: there were none, or they do not say.
    std::optional<DecidingStores> decided = {};
    StoreCode absent_code = {};  // of the stores in `decided`
    StoreCode present_code = {}; // likewise
    StoreCode last = {};         // of the latest store before the power failure
    std::string like = {};       // what Grouping::explained_by() said
    bool probing_failed = false; // there were tests, and they do not say
};

} // namespace fencepost::test
