// SPDX-License-Identifier: GPL-2.0-or-later
// Instructions that can cause events, and the sites they become when they do.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <unordered_map>
#include <vector>

#include "qemu-plugin/event_queue.h"
#include "qemu-plugin/instruction.h"
#include "qemu-plugin/process.h"
#include "trace/event.h"
#include "trace/records.h"

namespace fencepost::tracer {

struct CodePoint;

// One instruction in one translated block; what its callbacks are given.
struct BlockPoint {
    CodePoint *code;
    std::uint32_t left; // instructions of the block from this one on
};

// One instruction at one address; lives as long as the tracer, since translated code points to it.
struct CodePoint {
    std::uint64_t pc = 0;
    bool user = false;
    std::array<std::uint8_t, kMaxInstructionBytes> bytes = {};
    Instruction what;
    trace::Event event; // kind, subkind and flags of what it causes

    // Its site for the process that was the last to need one.
    const Process *process = nullptr;
    trace::SiteId site = 0;

    std::vector<std::unique_ptr<BlockPoint>> in_blocks; // each `left` once

    BlockPoint &in_block(std::uint32_t left);
    std::uint64_t next_pc() const { return pc + what.length; }
    std::span<const std::uint8_t> code() const { return std::span(bytes).first(what.length); }
};

class CodeMap {
public:
    // The same address and bytes are the same code point, however often they are translated. `what`
    // is what a Decoder makes of the bytes.
    CodePoint &at(std::uint64_t pc, std::span<const std::uint8_t> bytes, const Instruction &what);

private:
    struct Key {
        std::uint64_t pc;
        std::array<std::uint8_t, kMaxInstructionBytes> bytes;
        bool operator==(const Key &) const = default;
    };
    struct KeyHash {
        std::size_t operator()(const Key &key) const;
    };
    std::unordered_map<Key, CodePoint *, KeyHash> index_;
    std::deque<CodePoint> points_;
};

// Numbers sites in the order of their first events, which does not depend on what QEMU translated
// when.
class Sites {
public:
    explicit Sites(EventQueue &queue) : queue_(queue) {}

    // `process` is the one that executes it; of kernel code, Processes::kernel().
    trace::SiteId of(CodePoint &code, const Process &process)
    {
        return code.process == &process && code.site ? code.site : find(code, process);
    }
    void count_volatile_flush(trace::SiteId site, std::uint64_t flushes = 1)
    {
        volatile_flushes_[site] += flushes;
    }
    const std::unordered_map<trace::SiteId, std::uint64_t> &volatile_flushes() const
    {
        return volatile_flushes_;
    }

private:
    struct Key {
        const CodePoint *code;
        const Process *process;
        bool operator==(const Key &) const = default;
    };
    struct KeyHash {
        std::size_t operator()(const Key &key) const;
    };

    trace::SiteId find(CodePoint &code, const Process &process);

    EventQueue &queue_;
    std::unordered_map<Key, trace::SiteId, KeyHash> index_;
    std::unordered_map<trace::SiteId, std::uint64_t> volatile_flushes_;
};

} // namespace fencepost::tracer
