// SPDX-License-Identifier: GPL-2.0-or-later
// SQLite's functions: linked, or those of the program that loaded us as an extension.
#pragma once

#ifdef FENCEPOST_SQLITE_EXTENSION
#include <sqlite3ext.h>
SQLITE_EXTENSION_INIT3
#else
#include <sqlite3.h>
#endif
