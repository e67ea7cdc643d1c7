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


def test_every_analysis_has_a_test():
    tests = open(__file__).read()
    assert [script.name for script in ANALYSES.glob("*.py") if f'"{script.name}"' not in tests] == []
