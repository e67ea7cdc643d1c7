# SPDX-License-Identifier: GPL-2.0-or-later
"""Crash-consistency bugs in software for persistent memory: recordings, crash states and verdicts from Python.

    import fencepost

    run = fencepost.record("spec.toml", "run")  # or a dict instead of a file; Run("run") opens one that is there
    run.trace.sql("SELECT function, flushes FROM function_count ORDER BY flushes DESC LIMIT 5")
    run.test(seconds=60)                    # guests recover from crash states, oracles judge
    run.findings()                          # what rules and tests have found

Where to go on: help(fencepost.Trace) for events and SQL, help(fencepost.Run) for findings and verdicts,
help(fencepost.errors) for what can go wrong. Every exception of ours is a `fencepost.Error`.
"""

from fencepost._core import version as __version__
from fencepost._doing import record
from fencepost.campaigns import Campaign, Tested, campaign
from fencepost.compare import Difference, diff
from fencepost.errors import Error, GuestError, InternalError, MachineError, TraceError, UsageError
from fencepost.exports import to_perfetto
from fencepost.guest import Finished, Guest
from fencepost.oracles import Entry, Operation, RecoveredGuest, WorkloadProgress
from fencepost.parquet import to_parquet
from fencepost.rules import Rule, apply
from fencepost.run import Run
from fencepost.spec import to_toml
from fencepost.states import State, States
from fencepost.strategies import Choice, CrashPoint, Item, Piece
from fencepost.trace import KINDS, SUBKINDS, Block, Blocks, Event, Trace

__all__ = [
    "Block",
    "Blocks",
    "Campaign",
    "Choice",
    "CrashPoint",
    "Difference",
    "Entry",
    "Error",
    "Event",
    "Finished",
    "Guest",
    "GuestError",
    "InternalError",
    "Item",
    "KINDS",
    "MachineError",
    "Operation",
    "Piece",
    "RecoveredGuest",
    "Rule",
    "Run",
    "SUBKINDS",
    "State",
    "States",
    "Tested",
    "Trace",
    "TraceError",
    "UsageError",
    "WorkloadProgress",
    "__version__",
    "apply",
    "campaign",
    "diff",
    "record",
    "to_parquet",
    "to_perfetto",
    "to_toml",
]
