// SPDX-License-Identifier: GPL-2.0-or-later
// A guest with the tracer in its QEMU: prepared, restored, ended, and its trace held against its
// PM.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "tests/guest/world.h"
#include "trace/reader.h"
#include "trace/replay.h"

namespace fencepost::guest {

struct RecordingRequest {
    std::string file_system;    // made on the host; empty = none
    std::string plugin_options; // ",stacks=on" and the like
};

class RecordedGuest {
public:
    RecordedGuest(World &world, const std::filesystem::path &directory,
                  const RecordingRequest &request);

    Guest &guest() { return *guest_; }
    const std::filesystem::path &trace_file() const { return trace_; }
    const std::filesystem::path &pm_file() const { return pm_; }
    // Size of the trace file before the first event.
    std::uintmax_t prepared_bytes() const { return prepared_bytes_; }
    // Powers the guest off; the trace is complete when it returns.
    void end();
    // Initial image + stores against PM as it is now. After end().
    trace::Comparison compare() const;

private:
    std::filesystem::path trace_;
    std::filesystem::path pm_;
    std::uintmax_t prepared_bytes_ = 0;
    trace::Region region_;
    std::unique_ptr<Guest> guest_;
};

std::filesystem::path tracer_plugin();
// Puts a file of the host's into the guest, executable.
void put_program(Guest &guest, const std::filesystem::path &file, const std::string &path);
// Mounts /dev/pmem0 at /mnt/pm with DAX.
void mount_pm(Guest &guest, const std::string &file_system);

} // namespace fencepost::guest
