# SPDX-License-Identifier: GPL-2.0-or-later
"""What changes a run: recording, and the methods of Run that test it."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fencepost import _core, states, strategies
from fencepost import oracles as judges
from fencepost._progress import Progress, shown
from fencepost.errors import UsageError
from fencepost.oracles import Judges
from fencepost.spec import to_toml
from fencepost.states import State, States
from fencepost.strategies import Strategies

if TYPE_CHECKING:
    from fencepost.run import Run

Names = Iterable[str] | None


def _names(names: Names) -> list[str] | None:
    if isinstance(names, str):
        raise TypeError(f"a list of names is wanted, not the text {names!r}")
    return None if names is None else list(names)


def record(spec: Mapping[str, Any] | str | os.PathLike[str], run: str | os.PathLike[str], *, stacks: bool = True,
           force: bool = False, directory: str | os.PathLike[str] | None = None,
           progress: Progress | None = None) -> Run:
    """Records a workload in a guest, as `fencepost record`; gives the run.

    `spec` is a dict or the name of a TOML file (docs/reference/spec.md). Files that it names are looked for in
    `directory`: by default where the TOML file is, for a dict the current directory. `force` replaces a finished
    recording.

    >>> run = fencepost.record({"pm": {"size": "64M"}, "file_system": {"type": "ext4"},
    ...                         "workload": {"kind": "script", "text": "echo hello >a; sync"}}, "run")
    """
    from fencepost.run import Run

    if isinstance(spec, Mapping):
        text, name, place = to_toml(spec), "spec", Path.cwd()
    else:
        file = Path(spec)
        try:
            text, name, place = file.read_text(), str(file), file.absolute().parent
        except OSError as error:
            raise UsageError(f"{file}: {os.strerror(error.errno or 0)}") from None
    options = {"spec": text, "name": name, "directory": os.fspath(directory or place), "stacks": stacks, "force": force}
    with shown(progress) as told:
        _core.record(os.fspath(run), options, told)
    return Run(run)


class Doing:
    """The part of Run that starts guests."""

    path: Path

    def verify(self, times: int = 1, *, progress: Progress | None = None) -> dict[str, Any]:
        """How far the run can be trusted, as `fencepost verify --json`: complete, and the same when recorded again.

        `times`: how often it is recorded again; 0 only looks. The key `good` is the answer.
        """
        with shown(progress) as told:
            result: dict[str, Any] = json.loads(_core.verify(str(self.path), {"times": times}, told))
        return result

    def analyze(self, *, model: str = "adr", fences: str = "explicit", persistency: str = "epoch",
                durable_operations: bool = False, rules: Names = None, transactions: Names = None,
                order: Names = None, suppressions: Names = None, show_known_code: bool = False) -> dict[str, Any]:
        """What detection rules say about the trace, as `fencepost analyze --json`; needs no guest.

        `rules`: only these. `transactions`, `order` and `suppressions` are files, beside those of the spec.
        """
        options = {"model": model, "fences": fences, "persistency": persistency,
                   "durable_operations": durable_operations, "rules": _names(rules),
                   "transactions": _names(transactions), "order": _names(order),
                   "suppressions": _names(suppressions), "show_known_code": show_known_code}
        result: dict[str, Any] = json.loads(_core.analyze(str(self.path), options, None))
        return result

    def states(self, strategy: Strategies = "prefix,none-all", *, model: str = "adr", fences: str = "explicit",
               seed: int = 1, window: str | None = None, group: str = "auto", incidental: Names = None,
               after: str | None = None, limit: int | None = None, progress: Progress | None = None) -> States:
        """The crash states that strategies ask for, as `fencepost states --list`; needs no guest.

        `strategy` is as for `test`; "count" generates nothing, and the summary counts the legal states. `after`: goes on
        behind that state.

        >>> [state.id for state in run.states("none-all", window="op:3")]
        """
        options = {"strategies": strategies.chosen(strategy, str(self.path)), "model": model, "fences": fences,
                   "seed": seed, "window": window, "group": group, "incidental": _names(incidental), "after": after,
                   "limit": limit}
        with shown(progress) as told:
            return states.listed(str(self.path), options, told)

    def state(self, state: str, *, incidental: Names = None) -> State:
        """One crash state by its id: what is in it, and its image."""
        return states.opened(str(self.path), state, _names(incidental) or [])

    def test(self, *, strategy: Strategies = None, oracles: Judges = None, model: str = "adr",
             fences: str = "explicit", seed: int = 1, window: str | None = None, group: str = "auto",
             incidental: Names = None, jobs: int = 0, limit: int | None = None, bugs: int | None = None,
             seconds: float | None = None, backend: str = "process", accelerator: str = "auto",
             confirm: float = 0.02, minimize_seconds: float | None = 20, restart: bool = False,
             fresh: bool = False, progress: Progress | None = None) -> dict[str, Any]:
        """Has guests recover from crash states and oracles judge them, as `fencepost test --json`.

        A test that was stopped goes on where it was: by a `limit` of images, a number of `bugs`, after `seconds`, or
        with Ctrl-C. `confirm` is the share of the passes that a fresh guest judges too; for each bug there are
        `minimize_seconds` to find out what exactly makes it fail (None: not).

        `strategy` names strategies (docs/reference/strategies.md), is one of yours (help(fencepost.CrashPoint)), or is a
        list of both. `oracles` is one of yours (help(fencepost.RecoveredGuest)), or a list of names and of yours.
        Functions are called in threads, one for each guest, as many as there are `jobs`. What was judged by a function is
        judged anew when its text has changed or what it is bound to (defaults, a partial's arguments, variables of outer
        functions, attributes of its object); after a change of what it calls, say `restart`.
        """
        options = {"strategies": strategies.chosen(strategy, str(self.path)), **judges.chosen(oracles),
                   "model": model, "fences": fences, "seed": seed, "window": window, "group": group, "incidental": _names(incidental), "jobs": jobs, "limit": limit,
                   "bugs": bugs, "seconds": seconds, "backend": backend, "accelerator": accelerator,
                   "confirm": confirm, "minimize_seconds": minimize_seconds, "restart": restart, "fresh": fresh}
        with shown(progress) as told:
            result: dict[str, Any] = json.loads(_core.test(str(self.path), options, told))
        return result

    def minimize(self, finding: str | None = None, *, tests: int | None = None, seconds: float | None = None,
                 workload: bool = False, force: bool = False, oracles: Judges = None, incidental: Names = None,
                 backend: str = "process", accelerator: str = "auto",
                 progress: Progress | None = None) -> dict[str, Any]:
        """What exactly makes findings fail, as `fencepost minimize --json`; with `workload` also a shorter workload.

        `oracles`: those of the test that are functions of yours.
        """
        options = {**judges.chosen(oracles), "finding": finding, "tests": tests, "seconds": seconds, "workload": workload, "force": force,
                   "incidental": _names(incidental), "backend": backend, "accelerator": accelerator}
        with shown(progress) as told:
            result: dict[str, Any] = json.loads(_core.minimize(str(self.path), options, told))
        return result

    def reproduce(self, name: str, *, times: int = 1, oracles: Judges = None, incidental: Names = None,
                  backend: str = "process", accelerator: str = "auto",
                  progress: Progress | None = None) -> dict[str, Any]:
        """A finding or a crash state once more in a new guest, as `fencepost reproduce --json`.

        `oracles`: who judges; by default those of the test, of which your own have to be given again.
        """
        options = {**judges.chosen(oracles), "name": name, "times": times, "incidental": _names(incidental),
                   "backend": backend, "accelerator": accelerator}
        with shown(progress) as told:
            result: dict[str, Any] = json.loads(_core.reproduce(str(self.path), options, told))
        return result

    def report(self, format: str | None = None, *, progress: Progress | None = None) -> str:
        """The report of the run: writes RUN/report.html and gives its name.

        With a `format` (html, json, junit, markdown, sarif) it gives the text instead.
        """
        with shown(progress) as told:
            said: str = _core.report(str(self.path), {"format": format}, told)
        if format:
            return said
        page: str = json.loads(said)[0]
        return page
