// SPDX-License-Identifier: GPL-2.0-or-later
// A planted bug for tests of the command line: a record that is fenced and not flushed, then a
// flag that is flushed. A table [test] that looks at them comes behind it.
#pragma once

namespace fencepost::test {

inline constexpr char kLedgerSpec[] = R"(
[pm]
size = "32M"
[file_system]
type = "ext4"
[setup]
script = "dd if=/dev/zero of=ledger bs=4096 count=2 2>/dev/null"
[workload]
kind = "ops"
text = """
open f ledger rdwr
map m f 0 8192
store m 0 "amount=100"
fence
store m 4096 "valid"
flush m 4096 5
fence
unmap m
"""
)";

} // namespace fencepost::test
