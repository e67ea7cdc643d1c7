# SPDX-License-Identifier: GPL-2.0-or-later
"""How a program uses persistent memory, in the three figures with which PMDebugger (ASPLOS 2021) characterised its programs.

characterise.py RUN [PICTURE.png]
"""

import sys

import numpy as np

import fencepost
from fencepost import plots


def collective(trace):
    """Of the stretches of stores between two flushes of a vCPU, those that are all in the line which the next one flushes."""
    flush = fencepost.KINDS.index("flush")
    seen = together = 0
    open_lines = {}  # by vCPU
    for block in trace.blocks(kinds=["store", "flush"], values=False):
        events = block.matching
        for kind, line, vcpu in zip(events["kind"].tolist(), (events["address"] // 64).tolist(), events["vcpu"].tolist()):
            lines = open_lines.setdefault(vcpu, set())
            if kind != flush:
                lines.add(line)
            elif lines:
                seen += 1
                together += lines == {line}
                lines.clear()
    return 100 * together / max(1, seen)


def next_fence(trace):
    """Of the stores that are guaranteed at all, those that the next fence guarantees."""
    (share,), = trace.rows("SELECT 100.0 * sum(fences_passed = 0) / max(1, count(*)) FROM store_fate WHERE guaranteed_seq "
                           "IS NOT NULL")
    return share or 0.0


def mix(trace):
    counts = dict(trace.rows("SELECT kind, count(*) FROM event WHERE kind IN ('store', 'nt_store', 'flush', 'fence') "
                             "GROUP BY kind"))
    whole = max(1, sum(counts.values()))
    return {kind: 100 * count / whole for kind, count in counts.items()}


def main(run, picture=None):
    with fencepost.Trace(run) as trace:
        print(f"stores guaranteed by the next fence   {next_fence(trace):5.1f} %   (PMDebugger's programs: 77.7 %)")
        print(f"collective writebacks                 {collective(trace):5.1f} %   (71 %)")
        for kind, share in sorted(mix(trace).items(), key=lambda each: -each[1]):
            print(f"{kind:<38}{share:5.1f} % of stores, flushes and fences")
        if picture:
            import matplotlib.pyplot

            figure, axes = matplotlib.pyplot.subplots(2, 2, figsize=(13, 8), layout="constrained")
            for draw, ax in zip((plots.distance, plots.flush_locality, plots.event_mix, plots.in_flight), np.ravel(axes)):
                draw(trace, ax=ax)
            figure.savefig(picture)


if __name__ == "__main__":
    main(*sys.argv[1:])
