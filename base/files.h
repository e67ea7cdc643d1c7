// SPDX-License-Identifier: GPL-2.0-or-later
// Whole files, directories that vanish with their owner, and locks between processes.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "base/fd.h"

namespace fencepost {

std::string read_file(const std::filesystem::path &path);
// The same for a file that the user named: one that is not there, or is something else than a file,
// is an Error(usage). Pipes and devices are not opened: they might never end.
std::string read_named_file(const std::filesystem::path &path);
// Written beside the target, synced, then renamed over it: readers see the old or the new text.
void write_file(const std::filesystem::path &path, std::string_view text);
void make_directories(const std::filesystem::path &path);
std::uint64_t free_bytes(const std::filesystem::path &path);
// Throws an io error that says how much is missing. Files that QEMU maps are sparse: a disk that
// fills up while a guest runs would kill QEMU with a bus error and no word of why.
void require_free_bytes(const std::filesystem::path &directory, std::uint64_t bytes);
// Copies contents and keeps holes.
void copy_sparse(const std::filesystem::path &from, const std::filesystem::path &to,
                 std::uint64_t to_offset = 0);

// A fresh directory under `parent`, removed with everything in it by the destructor.
class TemporaryDirectory {
public:
    TemporaryDirectory(const std::filesystem::path &parent, std::string_view prefix);
    TemporaryDirectory(TemporaryDirectory &&other) noexcept;
    TemporaryDirectory &operator=(TemporaryDirectory &&) = delete;
    ~TemporaryDirectory();

    const std::filesystem::path &path() const { return path_; }
    // The directory stays; the caller has given it another name or owner.
    void release() { path_.clear(); }

private:
    std::filesystem::path path_;
};

// An exclusive lock on a file that is created for the purpose. Held by the process, not by its
// children, and dropped by the kernel when the process ends, however it ends.
class FileLock {
public:
    static FileLock acquire(const std::filesystem::path &path);
    static std::optional<FileLock> try_acquire(const std::filesystem::path &path);
    // Whether some process holds it now. Makes nothing, and needs no permission to write.
    static bool is_held(const std::filesystem::path &path);

private:
    explicit FileLock(Fd fd) : fd_(std::move(fd)) {}
    Fd fd_;
};

} // namespace fencepost
