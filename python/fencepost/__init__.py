# SPDX-License-Identifier: GPL-2.0-or-later
"""Crash-consistency bugs in software for persistent memory: recordings, crash states and verdicts from Python.

    import fencepost

    run = fencepost.Run("run")              # a directory that `fencepost record` or `fencepost run` made
    run.trace.sql("SELECT function, flushes FROM function_count ORDER BY flushes DESC LIMIT 5")
    run.findings()                          # what rules and tests have found

Where to go on: help(fencepost.Trace) for events and SQL, help(fencepost.Run) for findings and verdicts,
help(fencepost.errors) for what can go wrong. Every exception of ours is a `fencepost.Error`.
"""

from fencepost._core import version as __version__
from fencepost.compare import Difference, diff
from fencepost.errors import Error, GuestError, InternalError, MachineError, TraceError, UsageError
from fencepost.exports import to_perfetto
from fencepost.rules import Rule, apply
from fencepost.run import Run
from fencepost.trace import KINDS, SUBKINDS, Block, Event, Trace

__all__ = [
    "Block",
    "Difference",
    "Error",
    "Event",
    "GuestError",
    "InternalError",
    "KINDS",
    "MachineError",
    "Rule",
    "Run",
    "SUBKINDS",
    "Trace",
    "TraceError",
    "UsageError",
    "__version__",
    "apply",
    "diff",
    "to_perfetto",
]
