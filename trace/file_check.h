// SPDX-License-Identifier: GPL-2.0-or-later
// Opens files that claim to be traces and refuses those that are not.
#pragma once

#include <filesystem>

#include "trace/database.h"

namespace fencepost::trace {

enum class OpenFor { reading, writing };

// For writing, what a killed recorder left half written is rolled back; for reading, that is
// refused with the name of the command that does it. Anything but a trace of this format is an
// Error(trace) that says in one sentence what it is instead. The module of table `event` is
// registered on the connection.
Database open_trace(const std::filesystem::path &path, OpenFor purpose);

} // namespace fencepost::trace
