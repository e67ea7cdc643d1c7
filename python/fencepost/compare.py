# SPDX-License-Identifier: GPL-2.0-or-later
"""Two recordings side by side."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from fencepost.trace import Block, Trace, trace_of

if TYPE_CHECKING:
    import pandas

    from fencepost.run import Run

__all__ = ["Difference", "diff"]

FIELDS = ("kind", "subkind", "address", "size", "flags", "vcpu")
COUNTS = ("stores", "nt_stores", "flushes", "fences")


@dataclass(frozen=True)
class Difference:
    """What is not the same in two recordings."""

    same: bool  #: bit for bit, with the code of every event
    first: int | None  #: the first event that does something else, or that only one has; None: there is none
    sites: pandas.DataFrame  #: code by module, function and offset that did not do the same, with both counts
    operations: pandas.DataFrame  #: operations with other numbers of events

    def __bool__(self) -> bool:
        return not self.same


def _pieces(trace: Trace) -> Iterator[tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]]:
    for block in trace.blocks():
        yield block.events, _values(block)


def _values(block: Block) -> np.ndarray[Any, Any]:
    """What each event stores, as a number that is the same for the same bytes."""
    values: np.ndarray[Any, Any] = block.events["value"].copy()
    wide = np.flatnonzero(block.events["size"] > 8)
    stores = wide[block.events["kind"][wide] <= 1]
    content = block.wide_values
    for index in stores.tolist():
        at, size = int(values[index]), int(block.events["size"][index])
        values[index] = np.uint64(hash(content[at:at + size].tobytes()) & (2**64 - 1))
    return values


def _first_difference(a: Trace, b: Trace) -> int | None:
    left, right = _pieces(a), _pieces(b)
    seq = 0
    mine = theirs = None
    while True:
        mine = mine if mine is not None and len(mine[0]) else next(left, None)
        theirs = theirs if theirs is not None and len(theirs[0]) else next(right, None)
        if mine is None or theirs is None:
            return None if mine is theirs else seq
        length = min(len(mine[0]), len(theirs[0]))
        other = mine[1][:length] != theirs[1][:length]
        for field in FIELDS:
            other |= mine[0][field][:length] != theirs[0][field][:length]
        if other.any():
            return seq + int(np.argmax(other))
        seq += length
        mine, theirs = (mine[0][length:], mine[1][length:]), (theirs[0][length:], theirs[1][length:])


def _side_by_side(a: Trace, b: Trace, query: str, keys: list[str]) -> pandas.DataFrame:
    both = a.sql(query).merge(b.sql(query), on=keys, how="outer", suffixes=("_a", "_b"))
    counted = [name for name in both.columns if name not in keys]
    both[counted] = both[counted].fillna(0).astype("int64")
    names = sorted({name[:-2] for name in counted})
    changed = np.zeros(len(both), dtype=bool)
    for name in names:
        changed |= (both[f"{name}_a"] != both[f"{name}_b"]).to_numpy()
    return both[changed].sort_values(keys).reset_index(drop=True)


def diff(a: Trace | Run, b: Trace | Run) -> Difference:
    """What two recordings do differently: which code, in which operations, and from which event on.

    Code is known by module, function and offset, the words of findings, so that runs of other builds and processes
    compare.
    """
    a, b = trace_of(a), trace_of(b)
    sites = _side_by_side(
        a, b, f"SELECT module, function, offset, {', '.join(f'sum({name}) AS {name}' for name in COUNTS)} "
              "FROM site_name JOIN site_count USING (site) GROUP BY module, function, offset",
        ["module", "function", "offset"])
    operations = _side_by_side(
        a, b, "SELECT number, text, sum(coalesce(last_seq, first_seq) - first_seq) AS events, count(*) AS times "
              "FROM operation GROUP BY number, text", ["number", "text"])
    same = a.digest == b.digest
    return Difference(same, None if same else _first_difference(a, b), sites, operations)
