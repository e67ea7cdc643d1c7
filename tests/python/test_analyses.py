# SPDX-License-Identifier: GPL-2.0-or-later
"""The worked analyses in docs/how-to/analyses: each runs, and says what is true of a small trace."""

import re
import subprocess
import sys

from conftest import HERE

ANALYSES = HERE.parent.parent / "docs" / "how-to" / "analyses"

TEXT = """
function db module=/bin/db user=0x8000
function append module=ext4
syscall_enter 1 (1, 0, 8, 0, 0, 0, 1) in 0x8000
store pmem0 8 = 1 @append:1 ^vfs_write<db
store pmem0+8 8 = 1 @append:1 ^vfs_write<db
flush clwb pmem0 @append:2 ^vfs_write<db
fence sfence @append:3 ^vfs_write<db
store pmem0+64 8 = 2 @append:1 ^vfs_write<db
store pmem0+128 8 = 2 @append:1 ^vfs_write<db
syscall_exit 1 (1) = 8 in 0x8000
syscall_enter 74 (1, 0, 0, 0, 0, 0, 2) in 0x8000
flush clwb pmem0+64 @append:2 ^vfs_fsync<db
flush clwb pmem0+64 @append:2 ^vfs_fsync<db
fence sfence @append:3 ^vfs_fsync<db
syscall_exit 74 (2) = 0 in 0x8000
"""


def said(name, *arguments):
    return subprocess.run([sys.executable, ANALYSES / name, *arguments], capture_output=True, text=True, check=True).stdout


def test_characterise(make_run, tmp_path):
    text = said("characterise.py", make_run(TEXT), tmp_path / "picture.png")
    # Three of four stores are guaranteed at all, all by the next fence; one of two stretches is of one line.
    assert re.findall(r"([\d.]+) %", text)[:4] == ["100.0", "77.7", "50.0", "71"]
    assert (tmp_path / "picture.png").read_bytes().startswith(b"\x89PNG")


def test_left_in_flight(make_run):
    rows = said("left_in_flight.py", make_run(TEXT)).splitlines()
    assert rows[-1].split() == ["write", "1", "2", "2"]


def test_hottest_flushes(make_run):
    rows = said("hottest_flushes.py", make_run(TEXT), "1").splitlines()
    assert rows[-1].split()[0] == "append" and rows[-1].split()[-2:] == ["3", "1"]


def test_compare(make_run):
    rows = said("compare.py", make_run(TEXT), make_run(TEXT + "fence sfence @f\nstore pmem0+256 8 = 1\n", "other"))
    figures = {line[:22].strip(): line[22:].split() for line in rows.splitlines()}
    assert figures["fences"][:2] == ["2", "3"] and figures["lines written"][:2] == ["3", "4"]
    assert figures["most lines in flight"][:2] == ["2", "2"]


def lines_of(name, start):
    """Of a class or function: without blank lines."""
    text = (ANALYSES / name).read_text()
    block = re.search(rf"^{start}.*?(?=^\S|\Z)", text, re.MULTILINE | re.DOTALL).group()
    return len([line for line in block.splitlines() if line.strip()])


LOGGED = """
store pmem0+0 8 = 24 @log_word:1 ^transfer<main
store pmem0+8 8 = 1 @log_word:2 ^transfer<main
store pmem0+16 8 = 24 @log_word:1 ^transfer<main
store pmem0+24 8 = 2 @log_word:2 ^transfer<main
store pmem0+32 8 = 25 @log_word:1 ^transfer<main
store pmem0+512 8 = 1 @put:1 ^log_close<transfer<main
store pmem0+0 8 = 24 @log_word:1 ^transfer<main
store pmem0+1024 8 = 24 @other:1 ^transfer<main
"""


def test_redundant_undo_log(make_run):
    """Once: what the next transaction logs is logged once."""
    text = said("redundant_undo_log.py", make_run(LOGGED), "log_word", "log_close")
    assert text == "     1 times: 0x18 is logged again, in log_word called by transfer\n"
    assert said("redundant_undo_log.py", make_run(LOGGED, "wide"), "log_word", "log_close", "32") == ""
    assert lines_of("redundant_undo_log.py", "class") <= 30


ADDED = """
fence lock_rmw @lane:1 ^pmemobj_tx_begin<insert<main
store pmem0+4096 8 = 1 @copy:1 ^pmemobj_tx_add_range_direct<insert<main
store pmem0 8 = 1 @insert:1 ^main
store pmem0+64 8 = 1 @insert:2 ^main
fence iret @irq:1
flush clwb pmem0 @flush:1 ^pmemobj_tx_commit<insert<main
fence iret @irq:1
fence sfence @fence:1 ^pmemobj_tx_commit<insert<main
store pmem0+128 8 = 1 @insert:3 ^main
store pmem0+192 8 = 1 @reader:3 ^main
"""


def test_atomic_operation(make_run):
    text = said("atomic_operation.py", make_run(ADDED), "insert", "remove")
    assert text == ("     1 times: changed in a transaction that it was not added to, at insert+0x2\n"
                    "     1 times: changed outside of a transaction, at insert+0x3\n")
    assert said("atomic_operation.py", make_run(ADDED, "other"), "remove") == ""
    assert lines_of("atomic_operation.py", "class") <= 30


FORGOTTEN = """
store pmem0 8 = 1 @append:1 ^db
store pmem0+64 8 = 1 @log:1 ^db
store pmem0+128 8 = 1 @log:1 ^db
flush clwb pmem0+64 @log:2 ^db
flush clwb pmem0+128 @log:2 ^db
fence sfence @log:3 ^db
"""


def test_forgetful_functions(make_run, tmp_path):
    """Before the fence and at the end, where what was logged is guaranteed: the same image without what was appended."""
    rows = said("forgetful_functions.py", make_run(FORGOTTEN), tmp_path / "picture.png").splitlines()
    assert {line.split()[0]: line.split()[1:] for line in rows[1:]} == {"append": ["2", "1"], "log": ["1", "1"]}
    assert (tmp_path / "picture.png").read_bytes().startswith(b"\x89PNG")


def test_every_analysis_has_a_test():
    tests = open(__file__).read() + (HERE / "test_campaign.py").read_text()
    assert [script.name for script in ANALYSES.glob("*.py") if f'"{script.name}"' not in tests] == []
