// SPDX-License-Identifier: GPL-2.0-or-later
// `fencepost doctor`: what works on this machine, and how to fix what doesn't.
#include "cli/verb.h"

#include <cstdio>
#include <vector>

#include <fmt/core.h>
#include <nlohmann/json.hpp>
#include <sqlite3.h>
#include <zstd.h>
#ifdef FENCEPOST_LIBVIRT
#include <libvirt/libvirt.h>
#endif

#include "base/places.h"
#include "replayer/guest/doctor.h"

namespace fencepost::cli {

namespace {

// The libraries that were loaded, not the ones that were there when fencepost was built.
guest::Diagnosis library_versions()
{
    std::string versions =
        fmt::format("SQLite {}, zstd {}", sqlite3_libversion(), ZSTD_versionString());
#ifdef FENCEPOST_LIBVIRT
    unsigned long libvirt = 0; // major * 1,000,000 + minor * 1,000 + release
    if (virGetVersion(&libvirt, nullptr, nullptr) == 0)
        versions += fmt::format(", libvirt {}.{}.{}", libvirt / 1000000, libvirt / 1000 % 1000,
                                libvirt % 1000);
#endif
    return {"libraries", guest::Health::good, versions, ""};
}

void run_doctor(Context &context)
{
    nlohmann::json lines = nlohmann::json::array();
    bool bad = false;
    const auto report = [&](const guest::Diagnosis &diagnosis) {
        bad |= diagnosis.health == guest::Health::bad;
        if (context.settings.json) {
            lines.push_back({{"name", diagnosis.name},
                             {"health", to_string(diagnosis.health)},
                             {"detail", diagnosis.detail},
                             {"remedy", diagnosis.remedy}});
            return;
        }
        std::printf("%-8s %-12s %s\n", to_string(diagnosis.health), diagnosis.name.c_str(),
                    diagnosis.detail.c_str());
        if (!diagnosis.remedy.empty())
            std::printf("%-21s → %s\n", "", diagnosis.remedy.c_str());
        std::fflush(stdout);
    };
    guest::examine(cache_directory(), report);
    report(library_versions());
    if (context.settings.json)
        print_json({{"healthy", !bad}, {"parts", lines}});
    if (bad)
        context.exit_code = 4;
}

} // namespace

void add_doctor(App &app, Context &context)
{
    App *verb = app.add_subcommand("doctor",
                                   "Says what works on this machine, and how to fix what doesn't");
    verb->examples({{"doctor", "QEMU, plugins, libvirt, tools, cache"}});
    verb->callback([&context] { run_doctor(context); });
}

} // namespace fencepost::cli
