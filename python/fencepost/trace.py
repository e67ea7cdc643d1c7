# SPDX-License-Identifier: GPL-2.0-or-later
"""A trace: what a recorded workload did to persistent memory, event by event and by SQL."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from fencepost import _core
from fencepost._answers import Answer, frame, tuples

if TYPE_CHECKING:
    import pandas

    from fencepost.run import Run

__all__ = ["Block", "Blocks", "Event", "KINDS", "SUBKINDS", "Trace"]

LAST_SEQ = 2**64 - 1

#: Names of kinds of events; the field `kind` of a block's events is an index of this.
KINDS: tuple[str, ...] = tuple(kind for kind, _ in _core.kind_names())
#: Of each kind its subkinds: instructions, or kinds of markers.
SUBKINDS: dict[str, tuple[str, ...]] = {kind: tuple(subkinds) for kind, subkinds in _core.kind_names()}


class Event(NamedTuple):
    """One event. `address`, `size`, `site` and `stack` are 0 where there is none."""

    seq: int
    kind: str
    subkind: str
    vcpu: int
    address: int
    size: int
    value: bytes  #: what a store wrote, in memory order; empty for other kinds
    site: int
    stack: int
    atomic: bool

    @property
    def line(self) -> int:
        """The line (64 bytes) that it touches first."""
        return self.address // 64


@dataclass(frozen=True)
class Block:
    """Up to 65,536 events that stand one after the other in the trace.

    `events` is a structured NumPy array with the fields address, value, site, stack, kind, subkind, size, flags and
    vcpu: the reader's own memory, nothing is copied. It is valid for as long as you keep it. `value` is what a store
    of up to 8 bytes wrote, as an integer; of a wider store it is where its bytes begin in `wide_values`.
    """

    first_seq: int
    events: np.ndarray[Any, Any]
    selected: np.ndarray[Any, Any] | None  #: indexes of the events that were asked for; None: all of them
    wide_values: np.ndarray[Any, Any]

    def __len__(self) -> int:
        return len(self.events) if self.selected is None else len(self.selected)

    def __arrow_c_array__(self, requested_schema: object = None) -> tuple[object, object]:
        """The events that were asked for, as a record batch of Arrow with the columns of `Blocks`."""
        return _core.block_arrow(self.first_seq, self.events, self.selected, self.wide_values)

    @property
    def seq(self) -> np.ndarray[Any, Any]:
        """The seq of each event that was asked for."""
        if self.selected is None:
            return np.arange(self.first_seq, self.first_seq + len(self.events), dtype=np.int64)
        seqs: np.ndarray[Any, Any] = self.selected.astype(np.int64) + self.first_seq
        return seqs

    @property
    def matching(self) -> np.ndarray[Any, Any]:
        """The events that were asked for; a copy, unless that is all."""
        if self.selected is None:
            return self.events
        # NumPy would copy events with holes field by field, which takes ten times as long.
        words = self.events.view(np.uint64).reshape(len(self.events), -1)[self.selected]
        selected: np.ndarray[Any, Any] = words.view(self.events.dtype).reshape(-1)
        return selected

    def __iter__(self) -> Iterator[Event]:
        events = self.matching
        wide = self.wide_values
        columns = (events[name].tolist() for name in ("kind", "subkind", "vcpu", "address", "size", "value", "site",
                                                      "stack", "flags"))
        for seq, kind, subkind, vcpu, address, size, value, site, stack, flags in zip(self.seq.tolist(), *columns):
            if kind > 1:
                content = b""
            elif size <= 8:
                content = value.to_bytes(8, "little")[:size]
            else:
                content = wide[value:value + size].tobytes()
            name = KINDS[kind]
            yield Event(seq, name, SUBKINDS[name][subkind], vcpu, address, size, content, site, stack, bool(flags & 1))


class Blocks(Iterator[Block]):
    """What `Trace.blocks` gives: each `Block` once, in order.

    It is also a stream of Arrow, which anything that takes the PyCapsule interface reads, record batch by record
    batch, without fencepost needing Arrow: `pyarrow.table(trace.blocks())`, `polars.DataFrame(trace.blocks())`.
    Columns are named as in `Event`; what an event does not have is missing.
    """

    def __init__(self, core: _core.Blocks) -> None:
        self._core = core

    def __next__(self) -> Block:
        found = self._core.next()
        if found is None:
            raise StopIteration
        return Block(*found)

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """The blocks that are left."""
        return self._core.arrow(requested_schema)


class Trace:
    """The trace of a run: `Trace("run")` or `Trace("run/trace.db")`.

    >>> with fencepost.Trace("run") as trace:
    ...     trace.sql("SELECT kind, count(*) FROM event GROUP BY kind")

    It is opened for reading only. Of a recording that goes on it has what was there when it was opened.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._core = _core.OpenTrace(os.fspath(path))

    def __enter__(self) -> Trace:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        recording = self._core.recording if not self.closed else None
        what = f"{recording['event_count']:,} events, {recording['state']}" if recording else "closed"
        return f"<fencepost.Trace {self.path}: {what}>"

    def __len__(self) -> int:
        return self.event_count

    def close(self) -> None:
        """Gives the file back; whatever is asked then is an error."""
        self._core.close()

    @property
    def closed(self) -> bool:
        return self._core.closed

    @property
    def path(self) -> str:
        return self._core.path

    @property
    def event_count(self) -> int:
        """How many events there are; the last one's seq is one less."""
        return int(self._core.recording["event_count"])

    @property
    def state(self) -> str:
        """complete; truncated: cut short on purpose; prepared or running: it did not end."""
        return str(self._core.recording["state"])

    @property
    def outcome(self) -> str:
        """How the workload ended, in words."""
        return str(self._core.recording["outcome"])

    @property
    def digest(self) -> str:
        """Equal for recordings that are the same bit for bit."""
        return str(self._core.recording["event_digest"])

    # --- events

    def blocks(self, *, first_seq: int = 0, last_seq: int = LAST_SEQ, kinds: Iterable[str] | str | None = None,
               lines: Iterable[int] | None = None, sites: Iterable[int] | None = None,
               vcpus: Iterable[int] | None = None, values: bool = True) -> Blocks:
        """The events in order, as arrays: the way to look at millions of them.

        Given kinds, lines, sites or vCPUs, blocks without a match are not even opened, and `Block.matching` are the
        events that do match. Without `values` it takes half the time, and `value` is 0.

        >>> sum(len(block) for block in trace.blocks(kinds="flush"))
        """
        return Blocks(self._core.blocks({
            "first_seq": first_seq, "last_seq": last_seq, "kinds": [kinds] if isinstance(kinds, str) else _listed(kinds),
            "lines": _listed(lines), "sites": _listed(sites), "vcpus": _listed(vcpus), "values": values}))

    def events(self, *, first_seq: int = 0, last_seq: int = LAST_SEQ, kinds: Iterable[str] | str | None = None,
               lines: Iterable[int] | None = None, sites: Iterable[int] | None = None,
               vcpus: Iterable[int] | None = None) -> Iterator[Event]:
        """The events one by one, as `Event`; the arguments are those of `blocks`."""
        for block in self.blocks(first_seq=first_seq, last_seq=last_seq, kinds=kinds, lines=lines, sites=sites,
                                 vcpus=vcpus):
            yield from block

    def __iter__(self) -> Iterator[Event]:
        return self.events()

    # --- SQL

    def sql(self, query: str) -> pandas.DataFrame:
        """The answer of a query as a DataFrame. It can only read.

        Tables and views: docs/reference/trace-schema.md and docs/reference/sql-tables.md. Integers with NULLs among
        them have the type Int64, text is of type object.
        """
        return frame(Answer(*_core.answer(self._core, _text(query))))

    def arrow(self, query: str) -> _core.ArrowTable:
        """The answer of a query for whatever takes Arrow's PyCapsule interface; needs neither pandas nor pyarrow.

        >>> pyarrow.table(trace.arrow("SELECT * FROM store_fate"))

        Integers are int64, reals double, texts a dictionary of strings, blobs binary. A column with values of several
        types is an error: CAST them.
        """
        return _core.ArrowTable(self._core, _text(query))

    def rows(self, query: str) -> Iterator[tuple[Any, ...]]:
        """The rows of a query one by one, as tuples, while it goes on; needs no pandas."""
        return self._each_row(_core.Query(self._core, _text(query)))

    @staticmethod
    def _each_row(query: _core.Query) -> Iterator[tuple[Any, ...]]:
        step = 256
        while columns := query.fetch(step):
            rows = list(tuples(columns))
            yield from rows
            if len(rows) < step:
                return
            step = min(step * 4, 65536)

    # --- what is known about the events

    def sites(self) -> pandas.DataFrame:
        """The code that caused events, with names and counts: one row a site, by its id."""
        return self.sql("SELECT site_name.*, stores, nt_stores, flushes, fences, loads, volatile_flushes "
                        "FROM site_name LEFT JOIN site_count USING (site) ORDER BY site").set_index("site")

    def stack(self, stack: int) -> list[str]:
        """A call stack, from the inside out: `function` or `function (file:line)`."""
        calls = self.rows("SELECT function, source_file, source_line FROM stack_line "
                          f"WHERE stack = {int(stack)} ORDER BY depth")
        return [f"{function} ({file}:{line})" if line else function for function, file, line in calls]

    def stacks(self) -> pandas.DataFrame:
        """All call stacks, frame by frame; depth 0 is the innermost caller."""
        return self.sql("SELECT * FROM stack_line ORDER BY stack, depth")

    def operations(self) -> pandas.DataFrame:
        """The operations of the workload, with their first and last event."""
        return self.sql("SELECT * FROM operation ORDER BY first_seq")

    def system_calls(self) -> pandas.DataFrame:
        """The system calls of the workload, by name, with their first and last event."""
        return self.sql("SELECT first_seq, last_seq, system_call_name(number) AS name, number, process, text, result, "
                        "arguments FROM system_call ORDER BY first_seq")

    def epochs(self) -> pandas.DataFrame:
        """The epochs: what happened between two events that guarantee something; one row an epoch."""
        return self.sql("SELECT epoch, min(seq) AS first_seq, max(seq) AS last_seq, sum(kind IN ('store', 'nt_store'))"
                        " AS stores, sum(kind = 'flush') AS flushes, sum(kind = 'fence') AS fences,"
                        " count(DISTINCT CASE WHEN kind IN ('store', 'nt_store') THEN line END) AS lines"
                        " FROM event GROUP BY epoch ORDER BY epoch").set_index("epoch")

    def regions(self) -> pandas.DataFrame:
        """The PM devices: where in physical memory they are."""
        return self.sql("SELECT * FROM region ORDER BY id").set_index("name")

    def data_quality(self) -> pandas.DataFrame:
        """Counters that say how far the recording can be trusted."""
        return self.sql("SELECT * FROM data_quality ORDER BY name").set_index("name")

    def meta(self) -> dict[str, str]:
        """Facts about the recording that hold for all of it."""
        return {key: value for key, value in self.rows("SELECT key, value FROM meta")}

    def info(self, top: int = 10) -> dict[str, Any]:
        """What `fencepost info --json` says."""
        self.state  # of a closed trace: the error
        result: dict[str, Any] = json.loads(_core.info(self.path, top))
        return result


def trace_of(given: Trace | Run) -> Trace:
    """A trace, or that of a run."""
    found = given if isinstance(given, Trace) else getattr(given, "trace", None)
    if not isinstance(found, Trace):
        raise TypeError(f"a trace is wanted, or a run: not {given!r}")
    return found


def _listed(values: Iterable[Any] | None) -> list[Any] | None:
    return None if values is None else list(values)


def _text(query: str) -> str:
    if not isinstance(query, str):
        raise TypeError(f"a query is a str, not {type(query).__name__}")
    return query
