// SPDX-License-Identifier: GPL-2.0-or-later
// What of a WHERE clause over table `event` can skip blocks: chosen when SQLite plans a query,
// applied when it runs it.
#pragma once

#include <span>

#include "trace/event_scan.h"
#include "trace/sqlite_api.h"

namespace fencepost::trace {

// In the order of the declaration below; kEventDeclaration and this enum belong together.
enum EventColumn {
    kSeq,
    kKind,
    kSubkind,
    kVcpu,
    kAddress,
    kLine,
    kLastLine,
    kSize,
    kNumber,
    kValue,
    kSite,
    kStack,
    kAtomicColumn,
    kEpoch,
    kProcess,
    kOperation,
    kSystemCall,
    kCall,
    kThread,
    kTime,
};

inline constexpr char kEventDeclaration[] =
    "CREATE TABLE event (seq INTEGER, kind TEXT, subkind TEXT, vcpu INTEGER, address INTEGER,"
    " line INTEGER, last_line INTEGER, size INTEGER, number INTEGER, value BLOB, site INTEGER,"
    " stack INTEGER, atomic INTEGER, epoch INTEGER, process INTEGER, operation INTEGER,"
    " system_call TEXT, call INTEGER, thread INTEGER, time INTEGER)";

// What a query asks for beyond what a block has without its values; bits of a plan's number.
inline constexpr int kWantsValues = 1, kWantsEpoch = 2, kWantsContext = 4, kWantsMoments = 16;
// The plan has one argument, the seq of the only event.
inline constexpr int kOneSeq = 8;

// xBestIndex.
int plan_scan(sqlite3_index_info *info);
// The filter for a plan and its arguments. It may let through more than the constraints do:
// SQLite checks every row again.
EventFilter planned_filter(int plan_number, const char *plan, std::span<sqlite3_value *> arguments);

} // namespace fencepost::trace
