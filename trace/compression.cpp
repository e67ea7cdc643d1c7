// SPDX-License-Identifier: GPL-2.0-or-later
// See compression.h.
#include "trace/compression.h"

#include <algorithm>
#include <new>

#include <zstd.h>

#include "base/error.h"

namespace fencepost::trace {

void Compressor::Free::operator()(ZSTD_CCtx_s *context) const
{
    ZSTD_freeCCtx(context);
}

Compressor::Compressor(int level) : context_(ZSTD_createCCtx())
{
    if (!context_)
        throw std::bad_alloc();
    ZSTD_CCtx_setParameter(context_.get(), ZSTD_c_compressionLevel, level);
    ZSTD_CCtx_setParameter(context_.get(), ZSTD_c_checksumFlag, 1);
}

std::vector<std::byte> Compressor::compress(std::span<const std::byte> bytes)
{
    std::vector<std::byte> frame(ZSTD_compressBound(bytes.size()));
    const std::size_t size =
        ZSTD_compress2(context_.get(), frame.data(), frame.size(), bytes.data(), bytes.size());
    if (ZSTD_isError(size))
        fail(ErrorKind::internal, "zstd cannot compress {} bytes: {}", bytes.size(),
             ZSTD_getErrorName(size));
    frame.resize(size);
    return frame;
}

void Decompressor::Free::operator()(ZSTD_DCtx_s *context) const
{
    ZSTD_freeDCtx(context);
}

Decompressor::Decompressor() : context_(ZSTD_createDCtx())
{
    if (!context_)
        throw std::bad_alloc();
}

std::span<const std::byte> Decompressor::decompress(std::span<const std::byte> frame,
                                                    std::size_t limit, std::vector<std::byte> &out,
                                                    std::size_t padding)
{
    const unsigned long long stated = ZSTD_getFrameContentSize(frame.data(), frame.size());
    if (stated == ZSTD_CONTENTSIZE_ERROR || stated == ZSTD_CONTENTSIZE_UNKNOWN)
        fail(ErrorKind::trace, "it is not a zstd frame with a size");
    if (stated > limit)
        fail(ErrorKind::trace, "it claims {} bytes where at most {} are possible", stated, limit);
    const auto size = static_cast<std::size_t>(stated);
    if (out.size() < size + padding)
        out.resize(size + padding);
    const std::size_t got =
        ZSTD_decompressDCtx(context_.get(), out.data(), size, frame.data(), frame.size());
    if (ZSTD_isError(got))
        fail(ErrorKind::trace, "zstd says {}", ZSTD_getErrorName(got));
    if (got != size)
        fail(ErrorKind::trace, "it holds {} bytes instead of {}", got, size);
    std::fill_n(out.begin() + static_cast<std::ptrdiff_t>(size), padding, std::byte{0});
    return std::span<const std::byte>(out).first(size);
}

} // namespace fencepost::trace
