// SPDX-License-Identifier: GPL-2.0-or-later
// zstd frames with a checksum, made and opened with reused contexts.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

struct ZSTD_CCtx_s;
struct ZSTD_DCtx_s;

namespace fencepost::trace {

class Compressor {
public:
    explicit Compressor(int level);
    std::vector<std::byte> compress(std::span<const std::byte> bytes);

private:
    struct Free {
        void operator()(ZSTD_CCtx_s *context) const;
    };
    std::unique_ptr<ZSTD_CCtx_s, Free> context_;
};

class Decompressor {
public:
    Decompressor();
    // Replaces `out`; the frame's own size is not believed beyond `limit`. `padding` zero bytes
    // follow the contents in memory, so that a wide read near the end stays inside; they are not
    // part of the result. What is damaged or too large is an Error(trace).
    std::span<const std::byte> decompress(std::span<const std::byte> frame, std::size_t limit,
                                          std::vector<std::byte> &out, std::size_t padding = 0);

private:
    struct Free {
        void operator()(ZSTD_DCtx_s *context) const;
    };
    std::unique_ptr<ZSTD_DCtx_s, Free> context_;
};

} // namespace fencepost::trace
