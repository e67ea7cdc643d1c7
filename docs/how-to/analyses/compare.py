# SPDX-License-Identifier: GPL-2.0-or-later
"""Two file systems, or two builds of one, on the same workload: what each costs, and what each leaves in flight.

compare.py RUN OTHER-RUN
"""

import sys

import pandas

import fencepost
from fencepost import plots

FIGURES = """
SELECT count(*) AS events, sum(kind = 'store') AS stores, sum(kind = 'nt_store') AS "non-temporal stores",
       sum(kind = 'flush') AS flushes, sum(kind = 'fence' AND subkind IN ('sfence', 'mfence')) AS fences,
       max(epoch) + 1 AS epochs FROM event
"""
WRITTEN = "SELECT count(DISTINCT line) AS \"lines written\", sum(size) AS \"bytes written\" FROM store_fate"


def figures(trace):
    table = trace.sql(FIGURES).join(trace.sql(WRITTEN)).iloc[0]
    table["most lines in flight"] = plots.in_flight_lines(trace)[1].max()
    return table.astype("int64")


def compare(a, b):
    return pandas.DataFrame({"first": figures(a), "second": figures(b)}).assign(
        ratio=lambda table: (table["second"] / table["first"].clip(lower=1)).round(2))


if __name__ == "__main__":
    with fencepost.Trace(sys.argv[1]) as one, fencepost.Trace(sys.argv[2]) as other:
        print(compare(one, other).to_string())
