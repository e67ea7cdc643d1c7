# SPDX-License-Identifier: GPL-2.0-or-later
"""A recording for other programs to show."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from fencepost._files import whole
from fencepost.plots import in_flight_lines
from fencepost.trace import Trace, trace_of

if TYPE_CHECKING:
    from fencepost.run import Run

__all__ = ["to_perfetto"]

MARKS = ("op_end", "checkpoint", "note", "process_start", "process_end")


def _events(trace: Trace) -> Iterator[dict[str, Any]]:
    """In even steps: event N is at N microseconds."""
    end = trace.event_count
    tracks = {"epochs": 1, "operations": 2, "system calls": 3, "fences": 4, "markers": 5}
    for name, number in tracks.items():
        yield {"ph": "M", "pid": 1, "tid": number, "name": "thread_name", "args": {"name": name}}
    yield {"ph": "M", "pid": 1, "name": "process_name", "args": {"name": os.path.dirname(trace.path) or trace.path}}

    def slices(track: str, rows: Iterator[tuple[Any, ...]]) -> Iterator[dict[str, Any]]:
        for name, first, last, arguments in rows:
            yield {"ph": "X", "pid": 1, "tid": tracks[track], "name": name, "ts": first,
                   "dur": (end if last is None else last) - first + 1, "args": arguments}

    yield from slices("epochs", ((f"epoch {number}", first, last, {"stores": stores, "flushes": flushes, "lines": lines})
                                 for number, first, last, stores, flushes, _, lines
                                 in trace.epochs().itertuples(name=None)))
    yield from slices("operations", ((text or f"operation {number}", first, last, {"number": number})
                                     for first, last, number, text
                                     in trace.rows("SELECT first_seq, last_seq, number, text FROM operation")))
    yield from slices("system calls", ((name, first, last, {"process": hex(process), "text": text, "result": result})
                                       for first, last, name, process, text, result in trace.rows(
                                           "SELECT first_seq, last_seq, system_call_name(number), process, text, result "
                                           "FROM system_call")))
    for seq, instruction, function in trace.rows("SELECT seq, instruction, function FROM fence LEFT JOIN site_name "
                                                 "USING (site) WHERE counts_explicit"):
        yield {"ph": "i", "s": "t", "pid": 1, "tid": tracks["fences"], "name": instruction, "ts": seq,
               "args": {"function": function}}
    for seq, kind, text in trace.rows("SELECT seq, kind, text FROM marker WHERE kind IN "
                                      f"({', '.join(map(repr, MARKS))})"):
        yield {"ph": "i", "s": "t", "pid": 1, "tid": tracks["markers"], "name": f"{kind} {text}".strip(), "ts": seq}
    for seq, lines in zip(*(values.tolist() for values in in_flight_lines(trace))):
        yield {"ph": "C", "pid": 1, "name": "lines in flight", "ts": seq, "args": {"lines": lines}}


def to_perfetto(trace: Trace | Run, path: str | os.PathLike[str]) -> None:
    """Writes what ui.perfetto.dev opens: epochs, operations, system calls, fences, markers, lines in flight.

    Events are in even steps, event N at N microseconds, because what happens between them is far apart in guest time.
    """
    trace = trace_of(trace)
    with whole(path) as file:
        file.write(b'{"traceEvents": [\n')
        for number, event in enumerate(_events(trace)):
            file.write(((",\n" if number else "") + json.dumps(event)).encode())
        file.write(b"\n]}\n")
