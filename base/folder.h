// SPDX-License-Identifier: GPL-2.0-or-later
// A folder that came from somebody else, held open. Everything in it is reached by its descriptor
// and by plain names; links are not followed, so nothing outside of it is read, written or removed.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/fd.h"

namespace fencepost {

class Folder {
public:
    // The folder itself is named by the user: links on the way to it are theirs.
    explicit Folder(const std::filesystem::path &path);
    // The folder below with that name; nothing if there is none. What is there and is not a folder
    // is an Error(trace).
    std::optional<Folder> below(const std::string &name) const;
    // Made if it is not there.
    Folder made_below(const std::string &name) const;

    const std::filesystem::path &path() const { return path_; }
    int fd() const { return fd_.get(); }

    enum class Kind { nothing, file, folder, link, other };
    Kind kind_of(const std::string &name) const;
    std::vector<std::string> names() const; // sorted

    // Error(trace) for what is not a regular file or is larger than `most` bytes, as a sparse file
    // may be.
    std::string read(const std::string &name, std::uint64_t most) const;
    // Written beside the target, synced, then renamed over it. A link is replaced, not followed.
    void write(const std::string &name, std::string_view text) const;
    // A file or a link; nothing happens if there is none. A folder is an Error(io).
    void remove(const std::string &name) const;
    // An empty folder; false: it is not empty.
    bool remove_folder(const std::string &name) const;

private:
    Folder(Fd fd, std::filesystem::path path) : fd_(std::move(fd)), path_(std::move(path)) {}

    Fd fd_;
    std::filesystem::path path_;
};

// Whether a word from a file may name something in a folder: letters, digits, '.', '-' and '_', not
// too long, no dot in front.
bool is_plain_name(std::string_view name);

} // namespace fencepost
