// SPDX-License-Identifier: GPL-2.0-or-later
// What a guest machine is made of; everything here is part of a template's identity.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace fencepost::guest {

enum class PmAttach { nvdimm, e820 };
enum class Accelerator { tcg, kvm };
enum class Clock { host, icount }; // icount: guest time counts instructions, so runs repeat exactly

struct PmConfig {
    std::uint64_t size = 128ull << 20; // of the backing file, in bytes
    PmAttach attach = PmAttach::nvdimm;

    bool operator==(const PmConfig &) const = default;
};

struct GuestConfig {
    std::string image = "default";
    std::uint64_t ram = 512ull << 20;
    unsigned cpus = 1;
    Accelerator accelerator = Accelerator::tcg;
    Clock clock = Clock::host;
    std::vector<PmConfig> pm = {PmConfig{}};
    // Work comes by mailbox and nothing else comes in, so that runs repeat: see recording_guest.h.
    bool recording = false;
    std::string kernel_arguments; // after ours, so that they win
};

constexpr std::uint64_t kMinPmSize = 16ull << 20;
constexpr std::uint64_t kMaxPmSize = 1ull << 30;
constexpr std::uint64_t kPmAlignment = 2ull << 20;

// Guest-physical address of a PM device, by its place in config.pm.
std::uint64_t pm_base(const GuestConfig &config, std::size_t index);

// Bytes of a device's file before the data that the guest sees as /dev/pmemN.
std::uint64_t pm_data_offset(const PmConfig &device);

// Throws a usage error that names the field and its range.
void validate(const GuestConfig &config);

// "auto": nothing. Error(usage) for what there is not.
std::optional<Accelerator> parse_accelerator(const std::string &text);

const char *to_string(PmAttach attach);
const char *to_string(Accelerator accelerator);
const char *to_string(Clock clock);

} // namespace fencepost::guest
