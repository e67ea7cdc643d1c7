// SPDX-License-Identifier: GPL-2.0-or-later
// What file systems promise where a spec does not say, by type and mount options: the first row
// that suits. docs/reference/promises.md is the same table for readers; a test compares them.
#include "replayer/run/promise.h"

namespace fencepost::run {

namespace {

Promise lagging(BytePromise bytes)
{
    Promise promise = kFsync;
    promise.bytes = bytes;
    promise.sizes_lag = true;
    return promise;
}

const std::vector<std::string> kDax = {"dax", "dax=always"};

const std::vector<PromiseRow> &rows()
{
    static const std::vector<PromiseRow> kRows = {
        {{"NOVA", "nova"},
         {"data_cow"},
         {},
         kStrict,
         "writes go to new pages, which one log entry puts in place of the old ones"},
        {{"NOVA", "nova"},
         {},
         {},
         kSync,
         "data is overwritten in place; metadata and new pages are committed by the log"},
        {{"winefs", "WineFS"}, {"strict"}, {}, kStrict, "data is journaled or copied on write"},
        {{"winefs", "WineFS"}, {}, {}, kSync, "metadata is journaled, data written in place"},
        {{"pmfs", "PMFS"}, {}, {}, kSync, "metadata is journaled, data written in place"},
        {{"hymfs"}, {}, {}, kSync, "of the same family"},
        {{"ext4", "xfs"},
         kDax,
         {},
         kFsync,
         "a journal that commits later; blocks are zeroed or unwritten when they are allocated"},
        {{"ext4"},
         {"data=writeback"},
         {},
         lagging(BytePromise::any),
         "delayed allocation; blocks of files that were not synced may hold stale data"},
        {{"ext4", "xfs"},
         {},
         {},
         lagging(BytePromise::old_or_new),
         "delayed allocation: the size of a file that was not synced comes with its data"},
        {{}, kDax, {}, kFsync, "the weakest promise of a journaling file system"},
        {{}, {"data=writeback"}, {}, lagging(BytePromise::any), "as for ext4"},
        {{},
         {},
         {},
         lagging(BytePromise::old_or_new),
         "the weakest promise of a journaling file system, with delayed allocation"},
    };
    return kRows;
}

} // namespace

std::span<const PromiseRow> promise_table()
{
    return rows();
}

} // namespace fencepost::run
