# SPDX-License-Identifier: GPL-2.0-or-later
"""Crash states as objects: which there are, what is in them, and their images as bytes."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, overload

import numpy as np

from fencepost import _core
from fencepost._progress import asked
from fencepost.errors import UsageError

if TYPE_CHECKING:
    import pandas

__all__ = ["State", "States"]

_LINE = np.dtype([("line", "u8"), ("before", "u1", 64), ("after", "u1", 64)])


@dataclass(frozen=True)
class State:
    """One legal content of persistent memory after a power failure: `Run.states` lists them, `Run.state` opens one."""

    id: str  #: fencepost test, states and reproduce take it too
    seq: int  #: the event before which power fails
    epoch: int
    identity: str  #: of its image: equal images have equal ones
    relies_on_locked_instruction: bool  #: no crash point has it where locked instructions count as fences
    image_number: int | None = None  #: in the list that it is of: equal images have equal ones
    is_new: bool = True  #: the first state of that list with its image
    failure_point: bool = False  #: where the strategy `prefix` asks
    promise_changes: bool = False  #: where the workload's promise changes
    returned: bool = False  #: an operation has just returned
    _run: str = field(default="", repr=False)
    _incidental: tuple[str, ...] = field(default=(), repr=False)

    def contents(self) -> dict[str, Any]:
        """What was in flight and what of it is there, as `fencepost states --show --json`."""
        options = {"state": self.id, "incidental": list(self._incidental)}
        found: dict[str, Any] = json.loads(_core.state_contents(self._run, options, None))
        return found

    def lines(self) -> np.ndarray[Any, Any]:
        """The lines in which its image differs from the initial one: fields line, before and after (64 bytes each)."""
        numbers, before, after, _ = _core.state_lines(self._run, self.id, list(self._incidental))
        rows = np.empty(len(numbers), dtype=_LINE)
        rows["line"], rows["before"], rows["after"] = numbers, before.reshape(-1, 64), after.reshape(-1, 64)
        return rows

    def delta(self) -> bytes:
        """The same as an image.delta (docs/reference/image-delta.md)."""
        encoded: bytes = _core.state_lines(self._run, self.id, list(self._incidental))[3]
        return encoded

    def image(self, region: str | None = None) -> bytes:
        """Its image: all of persistent memory, or one region of it where there are several."""
        regions = {name: content for name, _, content in _core.state_image(self._run, self.id, list(self._incidental))}
        if region is None and len(regions) == 1:
            return next(iter(regions.values()))
        if region not in regions:
            raise UsageError(f"the regions of persistent memory are {', '.join(regions)}, not {region!r}")
        return regions[region]

    def export(self, file: str | os.PathLike[str], *, force: bool = False) -> list[str]:
        """Writes the image into a file, or the delta where its name ends in .delta, as `fencepost states --export`.

        Gives the names of the files: one for each region. `force`: a file that is there may be replaced.
        """
        options = {"state": self.id, "incidental": list(self._incidental), "file": os.fspath(file), "force": force}
        with asked():
            made: list[str] = json.loads(_core.export_state(self._run, options, None))
        return made


class States(Sequence[State]):
    """The states that strategies ask for, in their order, and what is known about all legal ones.

    `summary` is what `fencepost states --json` says; `epochs` has a row for each epoch: lines in flight, legal states,
    generated ones.
    """

    def __init__(self, states: list[State], summary: dict[str, Any], epochs: list[dict[str, Any]]) -> None:
        self._states = states
        self.summary = summary
        self.epochs = epochs

    @overload
    def __getitem__(self, index: int) -> State: ...

    @overload
    def __getitem__(self, index: slice) -> list[State]: ...

    def __getitem__(self, index: int | slice) -> State | list[State]:
        return self._states[index]

    def __len__(self) -> int:
        return len(self._states)

    def __iter__(self) -> Iterator[State]:
        return iter(self._states)

    def __repr__(self) -> str:
        return (f"<fencepost.States {len(self)} by {self.summary['strategy']}, {self.summary['images']} images, of "
                f"{self.legal} legal states>")

    @property
    def legal(self) -> int | str:
        """How many legal states there are; where they are very many, as a power of two."""
        exact = self.summary["legal"]["exact"]
        return int(exact) if exact is not None else f"2^{self.summary['legal']['log2']:.1f}"

    def frame(self) -> pandas.DataFrame:
        """One row a state."""
        import pandas

        names = [name for name in State.__dataclass_fields__ if not name.startswith("_")]
        return pandas.DataFrame([[getattr(state, name) for name in names] for state in self], columns=names)


def listed(run: str, options: dict[str, Any], progress: Any) -> States:
    """Asks the core."""
    found = json.loads(_core.list_states(run, options, progress))
    incidental = tuple(options["incidental"] or ())
    states = [State(row["id"], row["seq"], row["epoch"], row["identity"], row["relies_on_locked_instruction"],
                    row["image"], row["new"], row["failure_point"], row["promise_changes"], row["returned"], run, incidental)
              for row in found["states"]]
    return States(states, found["summary"], found["each_epoch"])


def opened(run: str, state: str, incidental: Sequence[str]) -> State:
    """One by its id."""
    contents = State(state, 0, 0, "", False, _run=run, _incidental=tuple(incidental)).contents()
    return State(state, contents["seq"], contents["epoch"], contents["identity"], not contents["legal_architecturally"],
                 _run=run, _incidental=tuple(incidental))
