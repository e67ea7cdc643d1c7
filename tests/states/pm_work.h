// SPDX-License-Identifier: GPL-2.0-or-later
// A synthetic file system at work on PM that flushes and fences what it writes: file data by
// non-temporal copies, a journal, metadata in place, several call stacks, operation markers.
#pragma once

#include <array>
#include <cstring>
#include <filesystem>
#include <random>
#include <vector>

#include "trace/event_buffer.h"
#include "trace/writer.h"

namespace fencepost::trace {

struct PmWorkShape {
    std::uint64_t pm_bytes = 128ull << 20;
    unsigned data_pages = 1;  // copied by one operation, at most
    bool forgetful = false;   // leaves a store unflushed now and then
    bool mixed_lines = false; // copies that begin within a unit: cached and non-temporal in a line
    unsigned vcpus = 1;
};

class PmWork {
public:
    static constexpr std::uint64_t kBase = 4ull << 30;
    static constexpr unsigned kMostEvents = 4096; // an operation has fewer, with one data page

    explicit PmWork(PmWorkShape shape, std::uint64_t seed = 1) : shape_(shape), random_(seed) {}

    // An append: data, a journal record of the metadata, a commit, the metadata in place.
    void add_operation(EventBuffer &buffer)
    {
        vcpu_ = static_cast<std::uint16_t>(below(shape_.vcpus));
        stack_ = 1 + static_cast<StackId>(below(12));
        mark(buffer, MarkerKind::op_begin);
        for (std::uint64_t page = below(shape_.data_pages + 1); page > 0; --page)
            copy_page(buffer);
        fence(buffer, 10);
        const std::uint64_t inode = area(1, 4096, 256);
        const std::uint64_t bitmap = area(2, 512, 64);
        const std::uint64_t slot = area(0, 1024, 256);
        put(buffer, 20, slot, ++transaction_);
        put(buffer, 21, slot + 8, inode);
        put(buffer, 22, slot + 16, bitmap);
        for (unsigned i = 0; i < 13; ++i)
            put(buffer, 23, slot + 24 + i * 8, random_());
        flush_range(buffer, 24, slot, 128);
        fence(buffer, 25);
        put(buffer, 26, slot + 128, transaction_);
        flush_range(buffer, 27, slot + 128, 8);
        fence(buffer, 28);
        for (unsigned field = 0; field < 6; ++field)
            put(buffer, 30 + field, inode + field * 16, random_() % 1000, field % 2 ? 4 : 8);
        put(buffer, 36, bitmap + below(8) * 8, random_());
        if (shape_.forgetful && below(4) == 0)
            put(buffer, 37, area(3, 64, 64), random_());
        flush_range(buffer, 38, inode, 96);
        flush_range(buffer, 39, bitmap, 64);
        lock(buffer, 40);
        fence(buffer, 41);
        mark(buffer, MarkerKind::op_end);
        ++operation_;
    }

    // A trace of at least `events` events, with all the tables that they refer to.
    void write(const std::filesystem::path &path, std::uint64_t events)
    {
        TraceWriter writer = TraceWriter::create(path);
        const Region region = {
            .id = 1, .name = "pmem0", .base = kBase, .size = shape_.pm_bytes, .file = "pm"};
        writer.put_region(region);
        std::vector<std::byte> initial(shape_.pm_bytes < (4 << 20) ? shape_.pm_bytes : 0);
        for (std::size_t i = 0; i < initial.size() / 8; ++i)
            initial[i] = static_cast<std::byte>(i * 7 % 251);
        if (!initial.empty())
            writer.put_initial_image(region, initial);
        for (SiteId id = 1; id <= 64; ++id)
            writer.put_site({.id = id, .pc = 0xffffffff81000000 + id * 16, .module = "kernel"});
        for (std::uint32_t id = 1; id <= 12; ++id) {
            writer.put_stack_frame(
                {.id = id, .pc = 0xffffffff82000000 + id * 16, .module = "kernel"});
            writer.put_stack({.id = id, .parent = id / 2, .frame = id});
        }
        EventBuffer buffer(1 << 16);
        while (writer.event_count() < events) {
            buffer.clear();
            while (buffer.size() + kMostEvents * (shape_.data_pages + 1) / 2 < (1 << 16) &&
                   writer.event_count() + buffer.size() < events)
                add_operation(buffer);
            writer.append(buffer);
        }
        writer.finish(RecordingState::complete, "");
    }

private:
    std::uint64_t below(std::uint64_t limit) { return random_() % limit; }

    // A record of `size` bytes in one of four areas of a sixteenth of PM each; file data has the
    // rest.
    std::uint64_t area(unsigned which, std::uint64_t records, std::uint64_t size)
    {
        const std::uint64_t bytes = shape_.pm_bytes / 16;
        return kBase + which * bytes + below(std::min(records, bytes / size)) * size;
    }

    Event event(EventKind kind, SiteId site) const
    {
        return {.site = site, .stack = stack_, .kind = kind, .vcpu = vcpu_};
    }

    void mark(EventBuffer &buffer, MarkerKind kind)
    {
        Event marker = event(EventKind::marker, 1);
        marker.subkind = static_cast<std::uint8_t>(kind);
        buffer.push_marker(marker, {.number = static_cast<std::int64_t>(operation_)});
    }

    void fence(EventBuffer &buffer, SiteId site) { buffer.push(event(EventKind::fence, site)); }

    void lock(EventBuffer &buffer, SiteId site)
    {
        Event locked = event(EventKind::fence, site);
        locked.subkind = static_cast<std::uint8_t>(FenceKind::lock_rmw);
        buffer.push(locked);
    }

    void put(EventBuffer &buffer, SiteId site, std::uint64_t address, std::uint64_t value,
             unsigned size = 8)
    {
        Event store = event(EventKind::store, site);
        store.address = address;
        store.size = static_cast<std::uint8_t>(size);
        store.value = size == 8 ? value : value & ((std::uint64_t{1} << 8 * size) - 1);
        buffer.push(store);
    }

    void flush_range(EventBuffer &buffer, SiteId site, std::uint64_t address, std::uint64_t size)
    {
        for (std::uint64_t at = address / 64 * 64; at < address + size; at += 64) {
            Event flush = event(EventKind::flush, site);
            flush.subkind = static_cast<std::uint8_t>(FlushKind::clwb);
            flush.address = at;
            buffer.push(flush);
        }
    }

    // Eight movnti in a loop, one site each.
    void copy_page(EventBuffer &buffer)
    {
        std::uint64_t page =
            kBase + shape_.pm_bytes / 4 + below(shape_.pm_bytes / 4096 * 3 / 4) * 4096;
        if (shape_.mixed_lines && below(2)) {
            page += 12;
            put(buffer, 59, page, random_(), 4);
            page += 4;
            flush_range(buffer, 60, page, 1);
        }
        const bool same = below(2);
        const std::uint64_t word = random_();
        for (unsigned i = 0; i < (page % 4096 ? 510u : 512u); ++i) {
            Event store = event(EventKind::nt_store, 50 + i % 8);
            store.address = page + i * 8;
            store.size = 8;
            store.value = same ? word : random_();
            buffer.push(store);
        }
    }

    PmWorkShape shape_;
    std::mt19937_64 random_;
    std::uint16_t vcpu_ = 0;
    StackId stack_ = 0;
    std::uint64_t transaction_ = 0;
    std::uint64_t operation_ = 0;
};

} // namespace fencepost::trace
