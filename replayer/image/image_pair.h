// SPDX-License-Identifier: GPL-2.0-or-later
// The two ends of what a power failure can leave: PM with what is guaranteed, and PM with
// everything written so far. Both follow the trace event by event.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "analyzer/model/in_flight.h"
#include "base/error.h"
#include "replayer/image/initial_image.h"
#include "replayer/image/line_hash.h"
#include "trace/event.h"

namespace fencepost::image {

// One image that changes, and its identity. Lines that changed since the identity was last asked
// for are hashed then, each once: the cost is that of the changed lines.
class ChangingImage {
public:
    explicit ChangingImage(const InitialImage &initial);

    // Bytes within one line.
    void write(std::uint64_t line, unsigned offset, const void *bytes, unsigned size)
    {
        if (line != recent_line_)
            touch(line);
        if (!recent_) [[unlikely]] {
            ++outside_;
            return;
        }
        std::memcpy(recent_ + offset, bytes, size);
    }
    const std::byte *line(std::uint64_t number) { return copy_.line(number); }
    std::span<const std::byte> region(std::size_t index) { return copy_.region(index); }
    Hash128 hash();
    // Calls visit(line) for every line that was ever written, in ascending order.
    template <typename Visit> void for_each_written(Visit &&visit) const
    {
        for (const Bits &bits : ever_)
            for (std::size_t i = 0; i < bits.words.size(); ++i)
                for (std::uint64_t word = bits.words[i]; word != 0; word &= word - 1)
                    visit(bits.first_line + i * 64 + static_cast<unsigned>(std::countr_zero(word)));
    }
    // Writes that were not in PM at all: none in a sound trace.
    std::uint64_t outside() const { return outside_; }

    // Lines written since the last call, sorted, each once. Only when asked for with log_changes().
    void log_changes() { logging_ = true; }
    std::vector<std::uint64_t> take_changes();

private:
    void touch(std::uint64_t line);

    PmCopy copy_;
    Hash128 hash_;
    std::uint64_t recent_line_ = UINT64_MAX;
    std::byte *recent_ = nullptr;
    std::vector<std::uint64_t> dirty_; // lines whose hash is not in hash_
    struct Bits {
        std::uint64_t first_line;
        std::vector<std::uint64_t> words;
    };
    std::vector<Bits> is_dirty_; // a bit a line, a region each
    std::vector<Bits> ever_;     // written at all
    bool logging_ = false;
    std::vector<std::uint64_t> log_;
    std::uint64_t outside_ = 0;
};

class ImagePair {
public:
    explicit ImagePair(const InitialImage &initial) : guaranteed_(initial), written_(initial) {}

    // What PersistenceModel::apply() was given, after it. Calls settling(piece) for each piece that
    // became guaranteed, before it is written.
    template <typename Settling>
    void apply(const trace::Event &event, std::span<const std::byte> wide_values,
               const model::InFlight &in_flight, Settling &&settling)
    {
        if (event.is_store())
            store(event, trace::value_of(event, wide_values));
        for (const model::SettledPiece &settled : in_flight.settled()) {
            settling(settled);
            guaranteed_.write(settled.line, settled.piece.offset, &settled.piece.value,
                              settled.piece.size);
        }
    }

    ChangingImage &guaranteed() { return guaranteed_; }
    ChangingImage &written() { return written_; }

private:
    void store(const trace::Event &event, std::span<const std::byte> bytes)
    {
        CHECK(bytes.size() == event.size, "a scan with values");
        const auto offset = static_cast<unsigned>(event.address % trace::kLineBytes);
        const unsigned first = std::min<unsigned>(event.size, trace::kLineBytes - offset);
        written_.write(event.first_line(), offset, bytes.data(), first);
        if (first < event.size) [[unlikely]]
            written_.write(event.last_line(), 0, bytes.data() + first, event.size - first);
    }

    ChangingImage guaranteed_;
    ChangingImage written_;
};

} // namespace fencepost::image
