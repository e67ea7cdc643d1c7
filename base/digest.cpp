// SPDX-License-Identifier: GPL-2.0-or-later
// See digest.h. Not for adversaries: a digest tells stale from fresh and damage from health.
#include "base/digest.h"

#include <cerrno>
#include <cstdint>
#include <vector>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <xxhash.h>

#include "base/error.h"
#include "base/fd.h"

namespace fencepost {

struct Digest::State {
    XXH3_state_t *xxh = XXH3_createState();
    ~State() { XXH3_freeState(xxh); }
};

Digest::Digest() : state_(std::make_unique<State>())
{
    XXH3_128bits_reset(state_->xxh);
}

Digest::~Digest() = default;

Digest &Digest::add_bytes(std::span<const std::byte> bytes)
{
    XXH3_128bits_update(state_->xxh, bytes.data(), bytes.size());
    return *this;
}

Digest &Digest::add(std::string_view text)
{
    const std::uint64_t length = text.size();
    add_bytes(std::as_bytes(std::span(&length, 1)));
    return add_bytes(std::as_bytes(std::span(text.data(), text.size())));
}

Digest &Digest::add_file(const std::filesystem::path &path)
{
    const Fd fd = open_file(path, O_RDONLY);
    struct stat status;
    if (fstat(fd.get(), &status) < 0)
        fail_errno(fmt::format("cannot examine {}", path.string()));
    if (S_ISDIR(status.st_mode))
        fail_errno(fmt::format("cannot read {}", path.string()), EISDIR);
    std::vector<std::byte> buffer(1 << 20);
    off_t at = 0;
    while (at < status.st_size) {
        const off_t data = lseek(fd.get(), at, SEEK_DATA);
        if (data < 0)
            break; // only a hole is left
        const off_t end = lseek(fd.get(), data, SEEK_HOLE);
        for (at = data; at < end;) {
            const auto want =
                std::min<std::size_t>(buffer.size(), static_cast<std::size_t>(end - at));
            const ssize_t got = pread(fd.get(), buffer.data(), want, at);
            if (got <= 0)
                fail_errno(fmt::format("cannot read {}", path.string()), got < 0 ? errno : EIO);
            // A hole and the zeros a copy may have made of it must not differ.
            const std::span<const std::byte> chunk(buffer.data(), static_cast<std::size_t>(got));
            for (std::size_t page = 0; page < chunk.size(); page += 4096) {
                const auto piece =
                    chunk.subspan(page, std::min<std::size_t>(4096, chunk.size() - page));
                bool zero = true;
                for (std::size_t i = 0; i < piece.size() && zero; ++i)
                    zero = piece[i] == std::byte{0};
                if (zero)
                    continue;
                const std::int64_t offset = at + static_cast<off_t>(page);
                add_bytes(std::as_bytes(std::span(&offset, 1)));
                add_bytes(piece);
            }
            at += got;
        }
    }
    const std::int64_t size = status.st_size;
    return add_bytes(std::as_bytes(std::span(&size, 1)));
}

std::string Digest::hex() const
{
    const XXH128_hash_t hash = XXH3_128bits_digest(state_->xxh);
    return fmt::format("{:016x}{:016x}", hash.high64, hash.low64);
}

std::string file_digest(const std::filesystem::path &path)
{
    return Digest().add_file(path).hex();
}

} // namespace fencepost
