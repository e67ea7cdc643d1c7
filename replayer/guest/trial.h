// SPDX-License-Identifier: GPL-2.0-or-later
// A guest tried out: restored, PM formatted and mounted with DAX, a file written and read back.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "replayer/guest/template_store.h"

namespace fencepost::guest {

enum class FormatIn { host, guest };

struct TrialRequest {
    GuestConfig config;
    std::string file_system = "ext4";
    FormatIn format_in = FormatIn::host;
};

struct TrialStep {
    std::string name;
    std::string detail;
    double seconds = 0;
};

// Calls `report` after each step; throws the error of the step that failed.
void run_trial(TemplateStore &store, const std::filesystem::path &cache,
               const TrialRequest &request, const TemplateStore::Progress &progress,
               const std::function<void(const TrialStep &)> &report);

} // namespace fencepost::guest
