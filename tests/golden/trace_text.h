// SPDX-License-Identifier: GPL-2.0-or-later
// Traces as text that a person can write and review; the language is described in README.md.
#pragma once

#include <filesystem>
#include <string_view>

namespace fencepost::golden {

// Makes the trace file `path` from `text`. A mistake in the text is an Error(usage) that names
// `name`, the line and the column.
void write_trace(std::string_view text, const std::filesystem::path &path,
                 std::string_view name = "trace");

} // namespace fencepost::golden
