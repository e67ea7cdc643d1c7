// SPDX-License-Identifier: GPL-2.0-or-later
// The rows of a trace that are not events, one struct a table; their columns are documented in
// schema.sql.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "trace/event.h"

namespace fencepost::trace {

using RegionId = std::uint32_t; // from 1

struct Region {
    RegionId id = 0;
    std::string name = {};
    std::uint64_t base = 0; // guest physical
    std::uint64_t size = 0;
    std::string file = {}; // name of the backing file, no directories
    std::uint64_t file_offset = 0;
    std::optional<std::string> initial_digest = {};
    std::optional<std::string> final_digest = {};

    bool contains(std::uint64_t address) const { return address - base < size; }
};

enum class Privilege : std::uint8_t { kernel, user };

struct Site {
    SiteId id = 0;
    std::uint64_t pc = 0;
    Privilege privilege = Privilege::kernel;
    std::uint64_t address_space = 0; // cr3's page-table base; 0 for kernel code
    std::string module = {};
    std::vector<std::byte> instruction = {};
    std::string disassembly = {};
};

// Counted per site by the tracer and by the writer.
struct SiteCounts {
    std::uint64_t stores = 0;
    std::uint64_t nt_stores = 0;
    std::uint64_t flushes = 0;
    std::uint64_t fences = 0;
    std::uint64_t loads = 0;
    std::uint64_t volatile_flushes = 0;
};

// One caller in call stacks: where the call instruction is.
struct StackFrame {
    std::uint32_t id = 0; // dense from 1
    std::uint64_t pc = 0;
    Privilege privilege = Privilege::kernel;
    std::uint64_t address_space = 0;
    std::string module = {};
};

// Call stacks share their outer frames: a stack is its innermost frame and the stack below it.
struct Stack {
    StackId id = 0;
    StackId parent = 0; // 0 = outermost
    std::uint32_t frame = 0;
};

struct Symbol {
    std::uint32_t id = 0; // dense from 1
    std::string name = {};
    std::string module = {};
    std::uint64_t address = 0;
    std::uint64_t size = 0;
};

// Where a pc lies in source terms, as far as known.
struct CodeLocation {
    std::uint32_t symbol = 0; // 0 = none
    std::string source_file = {};
    std::uint32_t source_line = 0; // 0 = unknown
    std::string module = {};       // replaces the recorder's when it is not empty
};

// What a counter other than 0 says about a recording.
enum class QualityLevel : std::uint8_t { info, warning, error };

// `error` means that a guarantee of the recording does not hold while `value` is not 0.
struct DataQuality {
    std::string name = {};
    std::int64_t value = 0;
    QualityLevel severity = QualityLevel::info;
    std::string meaning = {};
};

// The counter of flushes that could not be attributed to a line; kLostFlushesNote has their sites.
inline constexpr std::string_view kLostFlushes = "unresolved_absent_flushes";

enum class RecordingState : std::uint8_t { prepared, running, complete, truncated };

struct Recording {
    RecordingState state = RecordingState::prepared;
    std::uint64_t event_count = 0;
    std::string event_digest = {};
    std::string effect_digest = {};
    std::string outcome = {};
};

std::string_view name_of(Privilege privilege);
std::string_view name_of(QualityLevel level);
std::string_view name_of(RecordingState state);

} // namespace fencepost::trace
