# SPDX-License-Identifier: GPL-2.0-or-later
"""Which system calls return while lines that they wrote are still in flight: what a power failure just after them can lose.

left_in_flight.py RUN
"""

import sys

import fencepost

WRITTEN = """
SELECT e.call, f.line, f.guaranteed_seq FROM store_fate f JOIN event e USING (seq) WHERE e.call IS NOT NULL
"""


def left_in_flight(trace):
    calls = trace.system_calls().set_index("first_seq")[["last_seq", "name"]]
    written = trace.sql(WRITTEN).join(calls, on="call")
    late = written[written["guaranteed_seq"].isna() | (written["guaranteed_seq"] > written["last_seq"])]
    table = late.groupby("name").agg(calls=("call", "nunique"), lines=("line", "nunique"), stores=("line", "size"))
    return table.sort_values("lines", ascending=False)


if __name__ == "__main__":
    with fencepost.Trace(sys.argv[1]) as opened:
        print(left_in_flight(opened).to_string())
