// SPDX-License-Identifier: GPL-2.0-or-later
// The journal beside a database: what a writer that was killed leaves, and what a stranger may have
// put there. Readers never roll one back; verbs that write into a run, and `fencepost repair`, do.
#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>
#include <span>
#include <string>

#include "trace/database.h"

namespace fencepost::trace {

// The super-journal that a journal names in its last bytes: with it, one transaction spans several
// databases, which ours never do. `tail`: the end of the journal, at least kMostTail bytes of a
// longer one. Taken for a name is everything that SQLite could take for one.
constexpr std::size_t kMostTail = 4096 + 16;
std::optional<std::string> super_journal(std::span<const std::byte> tail);

// A database that was being written when its writer ended is as it was before that transaction.
// Error(trace) for a journal that no writer of ours leaves; nothing is changed then. False: there
// was nothing to do. The caller keeps other writers away.
bool roll_back(const std::filesystem::path &database, FileKind kind = FileKind::trace);

// Error(trace) for such a journal in the folder `folder`. `shown`: the database's name for people.
void check_journal(int folder, const std::string &database, const std::filesystem::path &shown);

} // namespace fencepost::trace
