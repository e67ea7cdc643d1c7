// SPDX-License-Identifier: GPL-2.0-or-later
// Requests on files of the guest, done in the server process itself.
#pragma once

#include <string>

#include "guest-images/agent/outcome.h"

namespace fencepost::agent {

Outcome<ReadFileReply> read_file(const ReadFileRequest &request);
Outcome<WriteFileReply> write_file(const WriteFileRequest &request);

// Like mkdir -p; false leaves errno.
bool make_directories(const std::string &path);

// The contents of a small file of /proc or /sys without its last newline; empty if unreadable.
std::string read_line(const std::string &path);

} // namespace fencepost::agent
