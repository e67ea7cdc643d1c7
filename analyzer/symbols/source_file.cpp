// SPDX-License-Identifier: GPL-2.0-or-later
// See source_file.h.
#include "analyzer/symbols/source_file.h"

#include <memory>
#include <vector>

#include <zstd.h>

#include "base/error.h"
#include "base/files.h"

namespace fencepost::symbols {

namespace fs = std::filesystem;

namespace {

constexpr std::size_t kMaxBytes = std::size_t{2} << 30;

// In pieces, because the frame's own word on its size is not believed.
std::optional<std::string> decompressed(const std::string &bytes)
{
    const std::unique_ptr<ZSTD_DStream, decltype(&ZSTD_freeDStream)> stream(ZSTD_createDStream(),
                                                                            ZSTD_freeDStream);
    std::string out;
    std::vector<char> piece(ZSTD_DStreamOutSize());
    ZSTD_inBuffer input = {bytes.data(), bytes.size(), 0};
    while (true) {
        ZSTD_outBuffer output = {piece.data(), piece.size(), 0};
        const std::size_t left = ZSTD_decompressStream(stream.get(), &output, &input);
        if (ZSTD_isError(left) || out.size() + output.pos > kMaxBytes)
            return std::nullopt;
        out.append(piece.data(), output.pos);
        if (input.pos == input.size && output.pos < piece.size())
            return left == 0 ? std::optional(std::move(out)) : std::nullopt;
    }
}

} // namespace

std::optional<std::string> read_source(const fs::path &path)
{
    std::error_code error;
    if (!fs::is_regular_file(path, error) || fs::file_size(path, error) > kMaxBytes || error)
        return std::nullopt;
    try {
        std::string bytes = read_file(path);
        if (bytes.starts_with("\x28\xb5\x2f\xfd"))
            return decompressed(bytes);
        return bytes;
    } catch (const Error &) {
        return std::nullopt;
    }
}

std::string absolute(std::string_view guest_path)
{
    const std::string path = (fs::path("/") / guest_path).lexically_normal().string();
    return path.size() > 1 && path.ends_with('/') ? path.substr(0, path.size() - 1) : path;
}

} // namespace fencepost::symbols
