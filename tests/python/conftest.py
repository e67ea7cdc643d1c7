# SPDX-License-Identifier: GPL-2.0-or-later
"""Traces for the tests, from the language of the golden tests."""

import os
import pathlib
import subprocess
import sys

import pytest

HERE = pathlib.Path(__file__).resolve().parent
GOLDEN = HERE.parent / "golden"
MAKE_TRACE = os.environ["FENCEPOST_MAKE_TRACE"]
PROGRAM = os.environ["FENCEPOST_PROGRAM"]

sys.path.insert(0, str(HERE.parent / "cli"))  # made_run


def make_trace(folder, text):
    folder.mkdir(parents=True, exist_ok=True)
    subprocess.run([MAKE_TRACE, "-", folder / "trace.db"], input=text, text=True, check=True)
    return folder


@pytest.fixture
def make_run(tmp_path):
    """make_run(TEXT): a run directory whose trace that is."""
    return lambda text, name="run": make_trace(tmp_path / name, text)


@pytest.fixture(scope="session")
def journal(tmp_path_factory):
    return make_trace(tmp_path_factory.mktemp("journal") / "run", (GOLDEN / "journal.trace").read_text())


@pytest.fixture(scope="session")
def long_run(tmp_path_factory):
    """About 150,000 events: three blocks."""
    lines = []
    for number in range(30_000):
        at = number * 64 % 2**20
        lines += [f"store pmem0+{at} 8 = {number} @append:1 ^main", f"store pmem0+{at + 8} 16 = *7 @append:2",
                  f"v1 nt_store pmem0+{at + 32} 8 = {number} @append:3",
                  f"flush clwb pmem0+{at} @flush:4 ^main<start", "fence sfence @flush:5"]
    return make_trace(tmp_path_factory.mktemp("long") / "run", "\n".join(lines) + "\n")


def command(*arguments):
    """What the command says."""
    return subprocess.run([PROGRAM, *map(str, arguments)], capture_output=True, text=True)
