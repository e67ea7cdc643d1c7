# SPDX-License-Identifier: GPL-2.0-or-later
"""Strategies of your own: a generator that says, for each crash point, which of what is in flight persists."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Union

from fencepost import _core
from fencepost.errors import UsageError
from fencepost.oracles import _name
from fencepost.trace import Trace

__all__ = ["Choice", "CrashPoint", "Item", "Piece", "Strategy"]


@dataclass(frozen=True)
class Piece:
    """The part of a store that is in one unit of 8 bytes: it persists whole or not at all."""

    seq: int  #: of the store
    address: int
    size: int
    value: int
    site: int
    stack: int
    kind: str  #: store or nt_store
    vcpu: int
    function: str  #: that stored it

    @property
    def line(self) -> int:
        """The line it is in."""
        return self.address // 64


@dataclass(frozen=True)
class Item:
    """What persists independently of everything else that is in flight: mostly a line.

    `kind` is line (its pieces persist in order), unit (of a line that was written with non-temporal stores), mixed (a
    line with both), or run (lines written one after the other, as copying does). A choice gives it a level: 0 is
    nothing of it, `last_level` all of it. Between these, level N of a line is its first N pieces.
    """

    number: int
    kind: str
    levels: int
    lines: range
    first: Piece  #: the piece that was stored first
    last: Piece  #: and last; of a run, of its last line
    _point: CrashPoint = field(repr=False, compare=False)

    @property
    def last_level(self) -> int:
        """All of it."""
        return self.levels - 1

    @property
    def pieces(self) -> list[Piece]:
        """What is in flight of it, in order; only while the strategy runs."""
        return [self._point._piece(row) for row in self._point._core.pieces(self.number)]

    @property
    def seq(self) -> int:
        """Of the store that wrote it first."""
        return self.first.seq

    @property
    def function(self) -> str:
        """That wrote it first."""
        return self.first.function

    def cut(self, lines: int, units: int = 0, *, behind: bool = False) -> int:
        """A level of a run: torn after so many lines, and units of the next one. `behind`: all but these."""
        return self._point._core.level_of_cut(self.number, lines, units, behind)

    def __hash__(self) -> int:
        return hash(self.number)


@dataclass(frozen=True)
class Choice:
    """One crash state: levels of items by their numbers, and `base` (none or all) for the others."""

    levels: Mapping[int, int]
    base: str = "none"


class CrashPoint:
    """Where power fails, and what is in flight there: what a strategy is given.

    >>> def one_lost(point):
    ...     for item in point.items:
    ...         yield point.all_but(item)

    A strategy yields choices: what `none()`, `all()`, `only()` and `all_but()` give, a list of items that persist, or a
    dict of items and levels, where all others are lost.
    """

    def __init__(self, core: _core.Point, functions: Mapping[int, str]) -> None:
        self._core = core
        self._functions = functions
        self._items: list[Item] | None = None

    @property
    def seq(self) -> int:
        """The event before which power fails."""
        return self._core.seq

    @property
    def epoch(self) -> int:
        """The epoch in which it fails."""
        return self._core.epoch

    @property
    def since(self) -> int:
        """The first event of that epoch."""
        return self._core.since

    @property
    def ends_epoch(self) -> bool:
        """The event guarantees something; else the workload's promise changes with it."""
        return self._core.boundary

    def _piece(self, row: tuple[Any, ...]) -> Piece:
        seq, address, size, value, site, stack, non_temporal, vcpu = row
        return Piece(seq, address, size, value, site, stack, "nt_store" if non_temporal else "store", vcpu,
                     self._functions.get(site, ""))

    @property
    def items(self) -> list[Item]:
        """What is in flight, in the order in which it was first written."""
        if self._items is None:
            self._items = [Item(number, kind, levels, range(line, line + lines), self._piece(first), self._piece(last), self)
                           for number, (kind, levels, line, lines, first, last) in enumerate(self._core.items())]
        return self._items

    def none(self) -> Choice:
        """Nothing of what is in flight persists."""
        return Choice({})

    def all(self) -> Choice:
        """All of it persists."""
        return Choice({}, "all")

    def only(self, *items: Item | int) -> Choice:
        """These persist, and nothing else."""
        return Choice({number: self._levels(number) - 1 for number in map(_number, items)})

    def all_but(self, *items: Item | int) -> Choice:
        """Everything persists but these."""
        return Choice({_number(item): 0 for item in items}, "all")

    def _levels(self, number: int) -> int:
        if not 0 <= number < len(self.items):
            raise UsageError(f"there is no item {number} before event {self.seq}: there are {len(self.items)}")
        return self.items[number].levels

    def _chosen(self, choice: object) -> tuple[bool, list[tuple[int, int]]]:
        if isinstance(choice, Choice):
            if choice.base not in ("none", "all"):
                raise UsageError(f"the base of a choice is none or all, not {choice.base!r}")
            levels: Mapping[Any, Any] = choice.levels
        elif isinstance(choice, Mapping):
            levels = choice
        elif isinstance(choice, Iterable) and not isinstance(choice, (str, bytes)):
            levels = self.only(*choice).levels
        else:
            raise TypeError(f"{choice!r} is no choice: a list of items, a dict of items and levels, or a Choice")
        return isinstance(choice, Choice) and choice.base == "all", [
            (_number(item), _level(level)) for item, level in levels.items()]


def _number(item: object) -> int:
    if isinstance(item, Item):
        return item.number
    if isinstance(item, int) and not isinstance(item, bool) and item >= 0:
        return item
    raise TypeError(f"{item!r} is no item of a crash point, nor the number of one")


def _level(level: object) -> int:
    if isinstance(level, int) and not isinstance(level, bool) and level >= 0:
        return level
    raise TypeError(f"{level!r} is no level")


#: `strategy(point)`: yields choices, or gives a list of them.
Strategy = Callable[[CrashPoint], Union[Iterable[Any], None]]


class _Adapter:
    """What the core calls at each crash point."""

    def __init__(self, function: Strategy, functions: Mapping[int, str]) -> None:
        self.function = function
        self.name = _name(function, "strategy")
        self.functions = functions

    def __call__(self, core: _core.Point) -> None:
        point = CrashPoint(core, self.functions)
        said = self.function(point)
        if said is None:
            return
        if not isinstance(said, Iterable):
            raise TypeError(f"the strategy {self.name} yields choices, or gives a list of them: not {said!r}")
        choices = iter(said)
        for choice in choices:
            try:
                more = core.choose(*point._chosen(choice))
            except (TypeError, UsageError) as wrong:
                if hasattr(choices, "throw"):  # the traceback is then that of the yield
                    choices.throw(wrong)
                raise
            if not more:
                break
        if hasattr(choices, "close"):
            choices.close()


Strategies = Union[str, Strategy, Iterable[Union[str, Strategy]], None]


def chosen(strategies: Strategies, path: str) -> list[Any] | None:
    """The core's option for strategies that are named or functions; `path`: of the run."""
    if strategies is None or isinstance(strategies, str):
        return None if strategies is None else [strategies]
    given: list[str | Strategy] = [*strategies] if isinstance(strategies, Iterable) else [strategies]
    functions: dict[int, str] = {}
    if any(not isinstance(each, str) for each in given):
        with Trace(path) as trace:
            functions = {site: name for site, name in trace.rows("SELECT site, function FROM site_name")}
    own: list[Any] = []
    for each in given:
        if isinstance(each, str):
            own.append(each)
        else:
            adapter = _Adapter(each, functions)
            own.append((adapter.name, adapter))
    return own
