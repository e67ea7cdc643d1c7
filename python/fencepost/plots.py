# SPDX-License-Identifier: GPL-2.0-or-later
"""Pictures of a trace, with matplotlib. Each function draws into `ax` (by default a new figure's) and returns it.

>>> from fencepost import plots
>>> plots.in_flight(trace).figure.savefig("in_flight.png")
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from fencepost.errors import UsageError
from fencepost.trace import Trace

if TYPE_CHECKING:
    import pandas
    from matplotlib.axes import Axes

__all__ = ["distance", "epoch", "event_mix", "flush_locality", "in_flight", "in_flight_lines"]

COLOURS = {"store": "#2266aa", "nt_store": "#7744aa", "flush": "#cc7722", "fence": "#444444", "lost": "#bb2233"}
MOST_LINES = 200  # of one epoch


def _axes(ax: Axes | None) -> Axes:
    if ax is not None:
        return ax
    try:
        import matplotlib.pyplot
    except ImportError:
        raise UsageError("pictures are drawn with matplotlib, which is not installed (Debian: python3-matplotlib)") from None

    axes: Axes = matplotlib.pyplot.subplots(figsize=(9, 4.5), layout="constrained")[1]
    return axes


def _shares(counts: pandas.Series, most: int) -> pandas.Series:
    """Shares in percent by 0, 1, ... and `most` or more."""
    grouped = counts.groupby(np.minimum(counts.index, most)).sum()
    return 100 * grouped.reindex(range(most + 1), fill_value=0) / max(1, grouped.sum())


def _bars(axes: Axes, shares: pandas.Series, first: int, colour: str) -> None:
    labels = [str(number + first) for number in shares.index]
    labels[-1] += " or more"
    axes.bar(labels, shares.to_numpy(), color=colour)
    axes.plot(labels, shares.cumsum().to_numpy(), color=COLOURS["fence"], marker=".", label="all up to here")
    axes.set_ylim(0, 105)
    axes.legend()


def event_mix(trace: Trace, ax: Axes | None = None) -> Axes:
    """How many stores, flushes and fences there are, by instruction."""
    axes = _axes(ax)
    counts = trace.sql("SELECT kind, subkind, count(*) AS events FROM event "
                       "WHERE kind IN ('store', 'nt_store', 'flush', 'fence') GROUP BY kind, subkind ORDER BY events")
    names = [kind if kind == "store" else f"{kind} {subkind}" for kind, subkind in zip(counts["kind"], counts["subkind"])]
    axes.barh(names, counts["events"].to_numpy(), color=[COLOURS[kind] for kind in counts["kind"]])
    axes.set_xlabel("events")
    axes.set_title("What was executed")
    return axes


def distance(trace: Trace, ax: Axes | None = None, most: int = 5) -> Axes:
    """Store-to-guarantee distance: by which fence behind it, 1 is the next, a store is guaranteed."""
    axes = _axes(ax)
    rows = trace.sql("SELECT fences_passed, count(*) AS stores FROM store_fate WHERE guaranteed_seq IS NOT NULL "
                     "GROUP BY fences_passed")
    _bars(axes, _shares(rows.set_index("fences_passed")["stores"], most - 1), 1, COLOURS["store"])
    axes.set_xlabel("fences up to the one that guarantees the store")
    axes.set_ylabel("% of stores")
    axes.set_title("Store-to-guarantee distance")
    return axes


def flush_locality(trace: Trace, ax: Axes | None = None, most: int = 16) -> Axes:
    """How many lines become guaranteed at once."""
    axes = _axes(ax)
    rows = trace.sql("SELECT lines, count(*) AS times FROM (SELECT count(DISTINCT line) AS lines FROM store_fate "
                     "WHERE guaranteed_seq IS NOT NULL GROUP BY guaranteed_seq) GROUP BY lines")
    _bars(axes, _shares(rows.set_index("lines")["times"].rename(index=lambda lines: lines - 1), most - 1), 1,
          COLOURS["flush"])
    axes.set_xlabel("lines")
    axes.set_ylabel("% of the events that guarantee something")
    axes.set_title("Lines that become guaranteed together")
    return axes


def in_flight_lines(trace: Trace) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """Lines in flight over time: events, ascending, and how many lines are in flight from each on."""
    end = trace.event_count
    rows = trace.sql(f"SELECT line, seq, coalesce(guaranteed_seq, {end}) AS until FROM store_fate ORDER BY line, seq")
    line, seq, until = (rows[name].to_numpy(dtype=np.int64) for name in ("line", "seq", "until"))
    if not len(line):
        return np.zeros(1, dtype=np.int64), np.zeros(1, dtype=np.int64)
    # A line is in flight from a store on that finds it at rest. Stores of a line are guaranteed in their order, so the
    # store before says until when it was.
    begins = np.ones(len(line), dtype=bool)
    begins[1:] = (line[1:] != line[:-1]) | (seq[1:] > until[:-1])
    ends = np.roll(begins, -1)
    times = np.concatenate([seq[begins], until[ends]])
    steps = np.concatenate([np.ones(begins.sum(), dtype=np.int64), -np.ones(ends.sum(), dtype=np.int64)])
    at, which = np.unique(times, return_inverse=True)
    return at, np.cumsum(np.bincount(which, weights=steps)).astype(np.int64)


def in_flight(trace: Trace, ax: Axes | None = None) -> Axes:
    """Lines in flight, from the first event to the last."""
    axes = _axes(ax)
    at, lines = in_flight_lines(trace)
    axes.step(at, lines, where="post", color=COLOURS["store"], linewidth=0.8)
    axes.set_xlim(0, max(1, trace.event_count))
    axes.set_ylim(0)
    axes.set_xlabel("event")
    axes.set_ylabel("lines")
    axes.set_title("Lines in flight")
    return axes


def epoch(trace: Trace, number: int, ax: Axes | None = None) -> Axes:
    """One epoch: each line that is in flight in it, its stores and flushes, and from when to when it is in flight."""
    axes = _axes(ax)
    bounds = list(trace.rows(f"SELECT min(seq), max(seq) FROM event WHERE epoch = {int(number)}"))
    first, last = bounds[0]
    if first is None:
        raise UsageError(f"there is no epoch {number}")
    fates = list(trace.rows(f"SELECT line, seq, kind, guaranteed_seq FROM store_fate WHERE seq <= {last} "
                            f"AND coalesce(guaranteed_seq, {last}) >= {first} ORDER BY seq"))
    lines = {line: row for row, line in enumerate(dict.fromkeys(line for line, *_ in fates))}
    if len(lines) > MOST_LINES:
        raise UsageError(f"epoch {number} has {len(lines)} lines in flight; a picture has room for {MOST_LINES}")
    for line, seq, kind, guaranteed in fates:
        row = lines[line]
        until = last if guaranteed is None else min(guaranteed, last)
        axes.plot([max(seq, first), until], [row, row], color=COLOURS["lost" if guaranteed is None else kind],
                  alpha=0.4, linewidth=4, solid_capstyle="butt")
        if seq >= first:
            axes.plot(seq, row, marker="s", markersize=4, color=COLOURS[kind])
    for seq, line in trace.rows(f"SELECT seq, line FROM event WHERE kind = 'flush' AND epoch = {int(number)}"):
        if line in lines:
            axes.plot(seq, lines[line], marker="|", markersize=10, color=COLOURS["flush"])
    for (seq,) in trace.rows(f"SELECT seq FROM fence WHERE counts_explicit AND seq BETWEEN {first} AND {last}"):
        axes.axvline(seq, color=COLOURS["fence"], linewidth=0.6)
    axes.set_yticks(range(len(lines)), [f"{line * 64:#x}" for line in lines], fontsize=7)
    axes.set_xlim(first - 0.5, last + 0.5)
    axes.invert_yaxis()
    axes.set_xlabel("event")
    axes.set_title(f"Epoch {number}: stores (squares), flushes (|), fences (lines), and what is in flight")
    return axes
