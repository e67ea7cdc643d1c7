// SPDX-License-Identifier: GPL-2.0-or-later
// Marker payloads and new programs' stacks as a hostile guest could make them: registers and memory
// are whatever the fuzzer says. `--seeds DIRECTORY` writes the seeds.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string>
#include <vector>

#include <linux/auxvec.h>

#include "qemu-plugin/marker/fencepost_marker.h"
#include "qemu-plugin/marker_payload.h"
#include "qemu-plugin/program_image.h"

namespace {

using namespace fencepost::tracer;

constexpr std::uint64_t kMemory = 0x10000; // where the rest of the input is in the guest's memory

// The rest of the input at kMemory, nothing elsewhere.
class FuzzedMemory : public GuestMemory {
public:
    explicit FuzzedMemory(std::string bytes) : bytes_(std::move(bytes)) {}

    std::optional<std::string> read_bytes(std::uint64_t address, std::size_t length) override
    {
        if (length == 0)
            std::abort(); // QEMU asks for more than nothing
        if (address < kMemory || address - kMemory >= bytes_.size() ||
            length > bytes_.size() - (address - kMemory))
            return std::nullopt;
        return bytes_.substr(address - kMemory, length);
    }

private:
    std::string bytes_;
};

void expect(bool condition)
{
    if (!condition)
        std::abort();
}

void try_marker(const MarkerRegisters &registers, FuzzedMemory &memory)
{
    const auto payload = decode_marker(registers, [&](std::uint64_t address, std::size_t length) {
        return memory.read_bytes(address, length);
    });
    if (!payload || payload->system_calls != SystemCallSwitch::none)
        return;
    expect(payload->marker.text.size() == registers.length);
    expect(payload->marker.text.size() <= FENCEPOST_MARKER_TEXT_MAX);
    expect(payload->marker.arguments.size() <= 2);
    for (const char c : payload->marker.text)
        expect(static_cast<unsigned char>(c) >= 0x20 || c == '\t' || c == '\n');
}

void try_program(std::uint64_t stack, std::uint64_t pc, FuzzedMemory &memory)
{
    const auto start = read_program_start(memory, stack, pc);
    if (!start)
        return;
    const auto image = read_image(memory, *start);
    if (image)
        expect(image->size() <= 129); // two files of at most 64 headers, and the vDSO
}

void write_seed(const std::string &path, const MarkerRegisters &registers,
                const std::string &memory)
{
    std::ofstream file(path, std::ios::binary);
    file.write(reinterpret_cast<const char *>(&registers), sizeof registers);
    file << memory;
}

int write_seeds(const std::string &directory)
{
    for (std::uint64_t code = 1; code <= FENCEPOST_MARKER_SYSCALLS_OFF; ++code)
        write_seed(directory + "/code_" + std::to_string(code), {code, 7, kMemory, 5, 9},
                   "hello world");
    write_seed(directory + "/too_long", {FENCEPOST_MARKER_NOTE, 0, kMemory, 1 << 20, 0}, "x");
    write_seed(directory + "/nowhere", {FENCEPOST_MARKER_NOTE, 0, 1, 8, 0}, "x");
    const std::uint64_t words[] = {
        1, kMemory + 96, 0,        0,         AT_PHDR,      kMemory + 120, AT_PHNUM,
        1, AT_ENTRY,     0x400000, AT_EXECFN, kMemory + 96, AT_NULL,       0};
    std::string memory(reinterpret_cast<const char *>(words), sizeof words);
    memory.resize(512);
    write_seed(directory + "/program", {0, 0x400000, kMemory, 0, 0}, memory);
    return 0;
}

} // namespace

extern "C" int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    if (*argc == 3 && !std::strcmp((*argv)[1], "--seeds"))
        std::exit(write_seeds((*argv)[2]));
    return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size)
{
    MarkerRegisters registers;
    if (size < sizeof registers)
        return 0;
    std::memcpy(&registers, data, sizeof registers);
    FuzzedMemory memory(
        {reinterpret_cast<const char *>(data) + sizeof registers, size - sizeof registers});
    try_marker(registers, memory);
    try_program(registers.text, registers.number, memory);
    return 0;
}
