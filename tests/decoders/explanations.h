// SPDX-License-Identifier: GPL-2.0-or-later
// Where the tracer's decoder and Zydis differ, and why that is right.
#pragma once

#include <span>
#include <string>

#include "tests/decoders/zydis_decoder.h"

namespace fencepost::tracer {

// What two decoders can differ in; a set of them is a sum.
enum Field : std::uint32_t {
    kDecoded = 1 << 0,
    kWrites = 1 << 1,
    kReads = 1 << 2,
    kNtStore = 1 << 3,
    kFlush = 1 << 4,
    kOperand = 1 << 5, // of a flush
    kFence = 1 << 6,
    kLocked = 1 << 7,
    kPrivileged = 1 << 8, // of what is a flush or fence, or changes translations
    kTranslation = 1 << 9,
    kStackPointer = 1 << 10,
    kSwapsBytes = 1 << 11,
    kTransfer = 1 << 12,
    kAllFields = (1 << 13) - 1,
};

// One instruction, as both see it.
struct Case {
    std::span<const std::uint8_t> bytes;
    bool random; // not from a program
    ZydisView zydis;
    Instruction own;
};

struct Explanation {
    std::uint32_t fields;
    const char *why;
    bool (*covers)(const Case &given);
};

// Of one that only one of them knows, kDecoded alone.
std::uint32_t differing_fields(const Instruction &zydis, const Instruction &own);
std::string field_names(std::uint32_t fields);
extern const std::span<const Explanation> kExplanations;

} // namespace fencepost::tracer
