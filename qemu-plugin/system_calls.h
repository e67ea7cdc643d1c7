// SPDX-License-Identifier: GPL-2.0-or-later
// System calls of the guest's processes, from the instructions that enter and leave the kernel: no
// cooperation of the program or the kernel is needed.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "qemu-plugin/guest_memory.h"
#include "qemu-plugin/process.h"
#include "trace/event_buffer.h"

namespace fencepost::tracer {

struct SystemCallEntry {
    std::uint64_t address_space = 0;
    std::uint64_t next_pc = 0; // after the `syscall` instruction
    std::uint64_t stack = 0;   // rsp
    std::uint64_t number = 0;
    std::array<std::uint64_t, trace::kSystemCallArguments> arguments = {};
};

// The kernel gives user code the processor, for whatever reason.
struct ReturnToUser {
    std::uint64_t address_space = 0;
    std::uint64_t pc = 0;
    std::uint64_t stack = 0;
    std::uint64_t result = 0;     // rax
    bool clear_registers = false; // rax, rbx, rbp and r12 are 0, as for a new program
};

struct NewMarker {
    trace::MarkerKind kind;
    trace::Marker marker;
};

// A state machine over entries and returns. A return belongs to the entry with the same address
// space, stack pointer and next instruction: no two threads share these three.
class SystemCalls {
public:
    SystemCalls(GuestMemory &memory, Processes &processes) : memory_(memory), processes_(processes)
    {
    }

    bool on() const { return on_; }
    // `address_space` is the caller's, whose own system calls are left out.
    void switch_on(std::uint64_t address_space);
    void switch_off();

    // What to record, in order; valid until the next call.
    const std::vector<NewMarker> &enter(const SystemCallEntry &entry);
    const std::vector<NewMarker> &leave(const ReturnToUser &back);
    // A process has been replaced by another since the last call: what is cached about them is
    // void.
    bool take_process_change() { return std::exchange(process_change_, false); }
    // Whether the call is the end of what its process has mapped, unless it fails: a child that
    // borrows its parent's memory ends nothing.
    bool ends_mappings(const SystemCallEntry &entry) const;

private:
    struct Place {
        std::uint64_t address_space;
        std::uint64_t pc;
        std::uint64_t stack;
        bool operator==(const Place &) const = default;
    };
    struct PlaceHash {
        std::size_t operator()(const Place &place) const;
    };
    struct Pending {
        SystemCallEntry entry;
        std::string path;
        std::uint64_t id;
        FileTable::Entered files = {};
        bool lends_memory = false; // a child runs in its memory until it starts a program or ends
    };
    // A call that makes a process whose first instruction has not been seen.
    struct Forking {
        Place place;
        FileTable files; // of the parent when it called
    };

    void add(trace::MarkerKind kind, std::uint64_t address_space, trace::Marker marker);
    void finish(Pending &call, std::uint64_t result);
    void note_mapping(const Pending &call, std::uint64_t result);
    void complete_image(Process &process);
    std::uint64_t clone_flags(const SystemCallEntry &entry);
    void note_clone(Pending &call, Process &process, const Place &place);
    bool lends_memory(std::uint64_t address_space) const;
    // A process that begins in page tables that another one had.
    Process &begin_process(std::uint64_t address_space);
    bool is_new_program(const ReturnToUser &back);
    bool is_new_child(const ReturnToUser &back);
    std::string paths_of(const SystemCallEntry &entry);

    GuestMemory &memory_;
    Processes &processes_;
    bool on_ = false;
    std::uint64_t left_out_ = 0; // address space
    bool process_change_ = false;
    std::uint64_t calls_ = 0; // so far
    std::unordered_map<Place, Pending, PlaceHash> pending_;
    std::vector<Place> starting_; // calls of execve that have not returned
    std::vector<Forking> forking_;
    std::uint64_t opened_ = 0; // files so far
    std::vector<NewMarker> markers_;
};

} // namespace fencepost::tracer
