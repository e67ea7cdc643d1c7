// SPDX-License-Identifier: GPL-2.0-or-later
// Crash states as JSON: what `fencepost states --json` prints, and the Python package gives.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include <nlohmann/json.hpp>

#include "replayer/image/image_index.h"
#include "replayer/image/image_walk.h"
#include "replayer/image/state_contents.h"
#include "replayer/states/state_walk.h"

namespace fencepost::collect {

// What is seen of a walk while it goes on.
struct StatesSeen {
    bool wants_epochs = false;
    std::uint64_t new_images = 0;
    std::optional<states::EpochCount> largest = {};  // epoch
    nlohmann::json epochs = nlohmann::json::array(); // where they are wanted

    void add(const states::EpochCount &epoch);
};

nlohmann::json state_row(const image::ReadyImage &image, const std::string &id, bool architectural,
                         const image::ImageIndex::Added &added);
nlohmann::json states_summary(const states::WalkOptions &walk, const states::WalkReport &report,
                              const StatesSeen &seen);
// One state, with code and places in PM by their names.
nlohmann::json state_contents(const trace::TraceReader &reader, const image::InitialImage &initial,
                              const image::StateContents &contents);

} // namespace fencepost::collect
