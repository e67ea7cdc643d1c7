// SPDX-License-Identifier: GPL-2.0-or-later
// See plugin_probe.h. The machine has no CPU and no memory, so this takes a few milliseconds.
#include "replayer/guest/plugin_probe.h"

#include <cstdio>

#include <nlohmann/json.hpp>

#include "base/child_process.h"
#include "base/error.h"
#include "base/places.h"
#include "replayer/guest/qmp.h"

#include <sys/mman.h>
#include <unistd.h>

namespace fencepost::guest {

PluginProbe probe_plugin(const QemuProgram &qemu)
{
    PluginProbe probe;
    const Deadline deadline = Deadline::after(std::chrono::seconds(20));
    const Fd words(memfd_create("qemu-stderr", MFD_CLOEXEC));
    auto [ours, theirs] = socket_pair();
    std::string said;
    try {
        ChildProcess process({qemu.path.string(), "-machine", "none", "-nodefaults",
                              "-no-user-config", "-display", "none", "-accel", "tcg", "-chardev",
                              "socket,id=qmp,fd=10", "-mon", "chardev=qmp,mode=control", "-plugin",
                              built_part("qemu-plugin", "fencepost-probe.so").string()},
                             {.fds = {{2, words.get()}, {10, theirs.get()}}});
        theirs.reset();
        QmpSession monitor(std::move(ours), process.end_fd(), deadline);
        monitor.execute("quit", nlohmann::json::object(), deadline);
        process.wait(deadline);
    } catch (const Error &error) {
        if (error.kind() != ErrorKind::guest)
            throw;
        probe.detail = error.what();
    }
    char buffer[4096];
    const ssize_t got = pread(words.get(), buffer, sizeof buffer - 1, 0);
    said.assign(buffer, got > 0 ? static_cast<std::size_t>(got) : 0);
    const auto found = said.find("fencepost-probe: plugin levels ");
    probe.loads = probe.detail.empty() && found != std::string::npos &&
                  std::sscanf(said.c_str() + found, "fencepost-probe: plugin levels %d to %d",
                              &probe.min_level, &probe.level) == 2;
    if (!probe.loads && !last_line(said).empty())
        probe.detail = last_line(said);
    return probe;
}

} // namespace fencepost::guest
