// SPDX-License-Identifier: GPL-2.0-or-later
// See guest_config.h.
#include "replayer/guest/guest_config.h"

#include "base/byte_size.h"
#include "base/error.h"

namespace fencepost::guest {

std::uint64_t pm_base(const GuestConfig &config, std::size_t index)
{
    std::uint64_t address = 4ull << 30;
    for (std::size_t i = 0; i < index; ++i)
        address += config.pm[i].size;
    return address;
}

std::uint64_t pm_data_offset(const PmConfig &device)
{
    constexpr std::uint64_t kNvdimmDataOffset = 2ull << 20; // info block, and room for page structs
    return device.attach == PmAttach::nvdimm ? kNvdimmDataOffset : 0;
}

void validate(const GuestConfig &config)
{
    if (config.ram < (128ull << 20) || config.ram > (2ull << 30) || config.ram % (2ull << 20))
        fail(ErrorKind::usage, "guest RAM must be 128M to 2G in steps of 2M, not {}",
             format_size(config.ram));
    if (config.cpus < 1 || config.cpus > 8)
        fail(ErrorKind::usage, "a guest has 1 to 8 CPUs, not {}", config.cpus);
    if (config.recording &&
        (config.accelerator != Accelerator::tcg || config.clock != Clock::icount))
        fail(ErrorKind::usage, "a recording guest is emulated and counts instructions");
    if (config.pm.size() > 4)
        fail(ErrorKind::usage, "a guest has at most 4 PM devices, not {}", config.pm.size());
    for (const PmConfig &device : config.pm) {
        if (device.size < kMinPmSize || device.size > kMaxPmSize)
            fail(ErrorKind::usage, "a PM device is {} to {} large, not {}", format_size(kMinPmSize),
                 format_size(kMaxPmSize), format_size(device.size));
        if (device.size % kPmAlignment)
            fail(ErrorKind::usage, "the size of a PM device is a multiple of {}, {} is not",
                 format_size(kPmAlignment), format_size(device.size));
        // NVDIMMs take ACPI slots and e820 ranges take NUMA nodes: their places in the physical
        // address space would depend on each other.
        if (device.attach != config.pm.front().attach)
            fail(ErrorKind::usage, "all PM devices of a guest are attached the same way");
    }
}

std::optional<Accelerator> parse_accelerator(const std::string &text)
{
    if (text == "auto")
        return std::nullopt;
    if (text == "kvm")
        return Accelerator::kvm;
    if (text == "tcg")
        return Accelerator::tcg;
    fail(ErrorKind::usage, "there is no accelerator '{}'; there are auto, kvm and tcg", text);
}

const char *to_string(PmAttach attach)
{
    return attach == PmAttach::nvdimm ? "nvdimm" : "e820";
}

const char *to_string(Accelerator accelerator)
{
    return accelerator == Accelerator::tcg ? "tcg" : "kvm";
}

const char *to_string(Clock clock)
{
    return clock == Clock::host ? "host" : "icount";
}

} // namespace fencepost::guest
