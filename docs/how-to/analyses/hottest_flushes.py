# SPDX-License-Identifier: GPL-2.0-or-later
"""Where flushes come from, and how many of them had nothing to do: no store to their line since the last one.

hottest_flushes.py RUN [COUNT]
"""

import sys

import numpy as np

import fencepost


def flushes(trace):
    """By site: how many flushes, and how many of a line that nobody has written since it was flushed."""
    flush = fencepost.KINDS.index("flush")
    clean = set()
    total, idle = {}, {}
    for block in trace.blocks(kinds=["store", "nt_store", "flush"], values=False):
        events = block.matching
        is_flush = events["kind"] == flush
        for flushed, line, site in zip(is_flush.tolist(), (events["address"] // 64).tolist(), events["site"].tolist()):
            if not flushed:
                clean.discard(line)
                continue
            total[site] = total.get(site, 0) + 1
            idle[site] = idle.get(site, 0) + (line in clean)
            clean.add(line)
    return total, idle


def hottest(trace, count=10):
    total, idle = flushes(trace)
    sites = trace.sites()[["function", "module", "source_file", "source_line"]]
    table = sites.loc[sites.index.intersection(np.array(list(total), dtype=np.int64))].copy()
    table["flushes"] = [total[site] for site in table.index]
    table["of clean lines"] = [idle[site] for site in table.index]
    return table.sort_values("flushes", ascending=False).head(count)


if __name__ == "__main__":
    with fencepost.Trace(sys.argv[1]) as opened:
        print(hottest(opened, int(sys.argv[2]) if len(sys.argv) > 2 else 10).to_string(index=False))
