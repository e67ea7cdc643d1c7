// SPDX-License-Identifier: GPL-2.0-or-later
// A synthetic stream of events in the proportions of a file system at work on PM: copies of file
// data, pages cleared, metadata and a journal, flushes and fences, locks.
#pragma once

#include <array>
#include <cstring>
#include <random>
#include <string_view>

#include "trace/event_buffer.h"

namespace fencepost::trace {

enum class FileData { text, incompressible };

class FileSystemEvents {
public:
    explicit FileSystemEvents(FileData data, std::uint64_t seed = 1) : data_(data), random_(seed) {}

    // Adds one operation, about 600 events.
    void add_operation(EventBuffer &buffer)
    {
        const std::uint64_t kind = random_() % 10;
        update_metadata(buffer);
        if (kind < 4)
            copy_page(buffer);
        else if (kind < 7)
            clear_page(buffer);
        else
            append_to_journal(buffer);
        if (random_() % 8 == 0)
            buffer.push({.site = 900, .kind = EventKind::fence}); // sfence
    }

    static constexpr std::uint64_t kBase = 4ull << 30;
    static constexpr std::uint64_t kSize = 128ull << 20;

private:
    static Event store(EventKind kind, SiteId site, std::uint64_t address, unsigned size)
    {
        return {.address = address,
                .site = site,
                .kind = kind,
                .size = static_cast<std::uint8_t>(size)};
    }

    std::uint64_t free_page() { return kBase + (16 << 20) + random_() % 28000 * 4096; }

    // The kernel's uncached copy: eight movnti in a loop, one site each.
    void copy_page(EventBuffer &buffer)
    {
        const std::uint64_t page = free_page();
        std::array<std::uint64_t, 512> content;
        fill(content);
        for (unsigned i = 0; i < 512; ++i)
            buffer.push_store(store(EventKind::nt_store, 100 + i % 8, page + i * 8, 8),
                              &content[i]);
    }

    // rep stosq, then a flush of every line.
    void clear_page(EventBuffer &buffer)
    {
        const std::uint64_t page = free_page();
        const std::uint64_t zero = 0;
        for (unsigned i = 0; i < 512; ++i)
            buffer.push_store(store(EventKind::store, 120, page + i * 8, 8), &zero);
        for (unsigned line = 0; line < 64; ++line)
            buffer.push(
                {.address = page + line * 64, .site = 121, .kind = EventKind::flush, .subkind = 2});
    }

    // rep movsq of a metadata block, itself sparse.
    void append_to_journal(EventBuffer &buffer)
    {
        journal_ = (journal_ + 4096) % (8 << 20);
        for (unsigned i = 0; i < 512; ++i) {
            const std::uint64_t word = random_() % 6 ? 0 : random_() % 100000;
            buffer.push_store(store(EventKind::store, 140, kBase + journal_ + i * 8, 8), &word);
        }
    }

    // Fields of inodes, bitmaps and directory entries, with locks around them.
    void update_metadata(EventBuffer &buffer)
    {
        for (unsigned update = 0; update < 6; ++update) {
            const unsigned path = random_() % 12;
            const std::uint64_t inode = kBase + (9 << 20) + random_() % 4096 * 256;
            buffer.push({.site = 300 + path, .kind = EventKind::fence, .subkind = 2}); // lock_rmw
            for (unsigned field = 0; field < 6 + path % 4; ++field) {
                static constexpr unsigned kSizes[] = {8, 4, 2, 8, 4, 1, 16, 8, 4, 8};
                const std::uint64_t words[2] = {field % 3 ? random_() % 5000 : clock_ += 137, 0};
                buffer.push_store(store(EventKind::store, 400 + path * 16 + field,
                                        inode + field * 16, kSizes[field]),
                                  words);
            }
            buffer.push(
                {.address = inode, .site = 700 + path, .kind = EventKind::flush, .subkind = 1});
        }
    }

    void fill(std::array<std::uint64_t, 512> &content)
    {
        static constexpr std::string_view kWords[] = {
            "the ",  "store ",   "of ",   "a ",    "line ",   "fence ", "and ",
            "then ", "nothing ", "file ", "0123 ", "write\n", "data ",  "page "};
        if (data_ == FileData::incompressible) {
            for (std::uint64_t &word : content)
                word = random_();
        } else if (random_() % 3 == 0) {
            // Text.
            auto *out = reinterpret_cast<char *>(content.data());
            for (std::size_t at = 0; at < sizeof content;) {
                const std::string_view word = kWords[random_() % std::size(kWords)];
                const std::size_t size = std::min(word.size(), sizeof content - at);
                std::memcpy(out + at, word.data(), size);
                at += size;
            }
        } else {
            content.fill(0x0101010101010101 * (random_() % 256)); // as test programs fill files
        }
    }

    FileData data_;
    std::mt19937_64 random_;
    std::uint64_t journal_ = 0;
    std::uint64_t clock_ = 1'700'000'000'000;
};

} // namespace fencepost::trace
