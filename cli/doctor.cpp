// SPDX-License-Identifier: GPL-2.0-or-later
// `fencepost doctor`: what works on this machine, and how to mend what does not.
#include "cli/verb.h"

#include <cstdio>
#include <vector>

#include "base/places.h"
#include "replayer/guest/doctor.h"

namespace fencepost::cli {

namespace {

void run_doctor(Context &context)
{
    nlohmann::json lines = nlohmann::json::array();
    bool bad = false;
    guest::examine(cache_directory(), [&](const guest::Diagnosis &diagnosis) {
        bad |= diagnosis.health == guest::Health::bad;
        if (context.settings.json) {
            lines.push_back({{"name", diagnosis.name},
                             {"health", to_string(diagnosis.health)},
                             {"detail", diagnosis.detail},
                             {"remedy", diagnosis.remedy}});
            return;
        }
        std::printf("%-8s %-12s %s\n", to_string(diagnosis.health), diagnosis.name.c_str(), diagnosis.detail.c_str());
        if (!diagnosis.remedy.empty())
            std::printf("%-21s → %s\n", "", diagnosis.remedy.c_str());
        std::fflush(stdout);
    });
    if (context.settings.json)
        print_json({{"healthy", !bad}, {"parts", lines}});
    if (bad)
        context.exit_code = 4;
}

} // namespace

void add_doctor(CLI::App &app, Context &context)
{
    CLI::App *verb = app.add_subcommand("doctor", "Says what works on this machine, and how to mend what does not");
    verb->callback([&context] { run_doctor(context); });
}

} // namespace fencepost::cli
