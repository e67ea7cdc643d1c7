// SPDX-License-Identifier: GPL-2.0-or-later
// A vCPU's recent virtual pages and whether they are PM: QEMU's own look-up costs several times
// more, and most stores of a guest are not to PM.
#pragma once

#include <array>
#include <cstdint>

namespace fencepost::tracer {

inline constexpr std::uint64_t kPageBytes = 4096;

// Like a processor's TLB it may serve a translation until the guest says that it has changed: every
// instruction by which a guest says so must call forget(). It is filled only from translations that
// an access has just used, or from a walk of the tables.
class TranslationCache {
public:
    static constexpr std::uint64_t kVolatile = ~std::uint64_t{0}; // a page that is not PM
    static constexpr std::uint64_t kAbsent =
        ~std::uint64_t{1}; // nothing is mapped there; never inserted
    static constexpr std::uint64_t kUnknown = ~std::uint64_t{2}; // from here on no page of PM

    // The physical address of the page that holds `address`, if that is PM.
    std::uint64_t find(std::uint64_t address) const
    {
        const Entry &entry = entries_[slot(address)];
        return entry.tag == tag(address) ? entry.frame : kUnknown;
    }

    void insert(std::uint64_t address, std::uint64_t frame)
    {
        entries_[slot(address)] = {tag(address), frame};
    }

    void forget()
    {
        if (++generation_ == kGenerations) {
            entries_.fill({});
            generation_ = 1;
        }
    }

private:
    struct Entry {
        std::uint64_t tag = 0;
        std::uint64_t frame = 0;
    };

    static constexpr unsigned kPageShift = 12;
    static constexpr unsigned kPageNumberBits = 45; // of 57-bit addresses
    static constexpr std::uint64_t kGenerations = std::uint64_t{1} << (64 - kPageNumberBits);
    static constexpr std::size_t kEntries = 2048;

    static std::size_t slot(std::uint64_t address) { return (address >> kPageShift) % kEntries; }
    std::uint64_t tag(std::uint64_t address) const
    {
        constexpr std::uint64_t kMask = (std::uint64_t{1} << kPageNumberBits) - 1;
        return ((address >> kPageShift) & kMask) | generation_ << kPageNumberBits;
    }

    std::array<Entry, kEntries> entries_ = {};
    std::uint64_t generation_ = 1; // 0 would match empty entries
};

} // namespace fencepost::tracer
