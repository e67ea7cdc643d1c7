// SPDX-License-Identifier: GPL-2.0-or-later
// A file that an option names for output. The one place that decides what may be written there.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "base/fd.h"

namespace fencepost {

enum class Overwrite { no, yes }; // --force

// A new file appears under its name when it is whole. A device or a pipe is written to and stays
// what it is. Usage errors, before anything is written: a folder, a symbolic link (unless it leads
// to a device or a pipe, as /dev/stdout may), a block device, a socket; a file that is there,
// unless it may be overwritten.
class OutputFile {
public:
    OutputFile(const std::filesystem::path &path, Overwrite overwrite);
    OutputFile(OutputFile &&) = delete;
    ~OutputFile(); // what is not finished is removed

    int fd() const { return fd_.get(); }
    const std::filesystem::path &path() const { return path_; }
    // A device or a pipe: to be written from its start to its end.
    bool is_stream() const { return beside_.empty(); }
    void finish();

private:
    std::filesystem::path path_;
    Overwrite overwrite_;
    Fd folder_;
    std::string name_;
    std::string beside_; // the name until it is finished
    Fd fd_;
};

void write_output(const std::filesystem::path &path, std::string_view text, Overwrite overwrite);

// The same usage errors without opening anything, for before a long work begins.
void check_output(const std::filesystem::path &path, Overwrite overwrite);

} // namespace fencepost
