// SPDX-License-Identifier: GPL-2.0-or-later
// SQLite's view of the disk while it works for us: one folder, held open, and in it a database and
// its journal. Whatever a file says, nothing else is opened, looked for or deleted.
#pragma once

#include <string>
#include <string_view>

namespace fencepost::trace {

// The name of the VFS, for sqlite3_open_v2. Registered at the first call.
const char *folder_vfs();

// How a file of the folder is named to that VFS: by the folder's descriptor, so that neither a link
// nor a folder that is moved away leads elsewhere.
std::string name_in_folder(int folder, std::string_view name);

// Why the VFS refused something last in this thread, and forgets it; null: it did not.
const char *take_refusal();

} // namespace fencepost::trace
