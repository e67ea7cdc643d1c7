// SPDX-License-Identifier: GPL-2.0-or-later
// What Zydis, a second decoder, makes of an instruction: for comparison only.
#pragma once

#include <string>

#include "qemu-plugin/instruction.h"

namespace fencepost::tracer {

struct ZydisView {
    Instruction what;     // as Decoder::decode() would say it
    bool bits64 = false;  // known as 64-bit code
    std::string mnemonic; // of it as 64-bit code; empty if unknown
    std::string set;      // the extension of the instruction set that it belongs to
};

// 0: nothing that it knows begins here.
std::size_t zydis_length(std::span<const std::uint8_t> bytes);
ZydisView zydis_decode(std::span<const std::uint8_t> bytes);

} // namespace fencepost::tracer
