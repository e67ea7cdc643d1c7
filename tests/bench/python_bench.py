# SPDX-License-Identifier: GPL-2.0-or-later
"""Measures the Python package against its budgets.

python_bench.py TRACE_BENCH [--smoke] [RUN...]     RUN: a recording for the questions, of a million events or more

Without --smoke guests are started too, for an oracle's cost.

Ratios are of two measurements in this run; the extension for plain SQLite tables is not needed.
"""

import pathlib
import resource
import sqlite3
import subprocess
import sys
import tempfile
import time

import fencepost


def seconds(work):
    began = time.perf_counter()
    result = work()
    return time.perf_counter() - began, result


def blocks(trace, **filters):
    return seconds(lambda: sum(len(block.events) for block in trace.blocks(**filters)))


def touched(trace):
    return seconds(lambda: sum(int(block.events["size"].sum()) for block in trace.blocks()))


def plain_table(trace, path):
    """The same rows in an ordinary table, as a user would make it."""
    table = sqlite3.connect(path)
    table.execute("CREATE TABLE event (seq INTEGER PRIMARY KEY, kind TEXT, subkind TEXT, vcpu INTEGER, address INTEGER, "
                  "size INTEGER, site INTEGER, stack INTEGER)")
    kinds = [kind for kind in fencepost.KINDS]
    for block in trace.blocks(values=False):
        events = block.events
        subkinds = [fencepost.SUBKINDS[kinds[kind]][subkind]
                    for kind, subkind in zip(events["kind"].tolist(), events["subkind"].tolist())]
        table.executemany("INSERT INTO event VALUES (?,?,?,?,?,?,?,?)",
                          zip(block.seq.tolist(), [kinds[kind] for kind in events["kind"].tolist()], subkinds,
                              events["vcpu"].tolist(), events["address"].tolist(), events["size"].tolist(),
                              events["site"].tolist(), events["stack"].tolist()))
    table.commit()
    return table


GROUP_BY = "SELECT site, kind, count(*), sum(size) FROM event GROUP BY site, kind"

QUESTIONS = {
    "hottest flush sites":
        "SELECT function, module, count(*) AS flushes FROM flush JOIN site_name USING (site) "
        "GROUP BY function, module ORDER BY flushes DESC LIMIT 10",
    "flushes and fences by system call":
        "SELECT system_call, sum(kind = 'flush') AS flushes, sum(kind = 'fence') AS fences FROM event "
        "WHERE kind IN ('flush', 'fence') GROUP BY system_call ORDER BY flushes DESC",
    "functions with stores in flight across a fence":
        "SELECT function, count(*) AS stores FROM store_fate JOIN site_name USING (site) WHERE fences_passed > 0 "
        "GROUP BY function ORDER BY stores DESC LIMIT 10",
    "lines written twice in one epoch":
        "SELECT epoch, line, count(*) AS stores FROM event WHERE kind IN ('store', 'nt_store') "
        "GROUP BY epoch, line HAVING stores > 1",
    "store-to-guarantee distance":
        "SELECT fences_passed, count(*) AS stores FROM store_fate GROUP BY fences_passed ORDER BY fences_passed",
    "a join with stacks":
        "SELECT l.function, count(*) AS stores FROM store s JOIN stack_line l USING (stack) WHERE l.depth = 0 "
        "GROUP BY l.function ORDER BY stores DESC LIMIT 10",
}


def measure_blocks(trace):
    count = trace.event_count
    first, _ = blocks(trace)
    whole, _ = blocks(trace)
    without, _ = blocks(trace, values=False)
    summed, _ = touched(trace)
    print(f"{count / 1e6:8.1f} M events as blocks: {whole:6.2f} s, {count / whole / 1e6:6.1f} M/s; without values "
          f"{count / without / 1e6:6.1f} M/s; one field summed {count / summed / 1e6:6.1f} M/s (first pass {first:.2f} s)")


def measure_group_by(trace, folder):
    ours, rows = seconds(lambda: trace.sql(GROUP_BY))
    table = plain_table(trace, folder / "plain.db")
    plain, same = seconds(lambda: table.execute(GROUP_BY).fetchall())
    assert len(rows) == len(same)
    print(f"         group by site and kind: {ours:.2f} s, a plain SQLite table {plain:.2f} s: ratio {ours / plain:.2f}")


class Wide(fencepost.Rule):
    """Looks at every store, as arrays."""

    name = summary = "wide-store"
    kinds = ("store", "nt_store")

    def start(self, trace):
        self.wide = 0

    def block(self, block):
        events = block.matching
        self.wide += int(((events["size"] > 32) & (events["address"] % 64 != 0)).sum())


class Flushed(fencepost.Rule):
    """Looks at every flush, one by one."""

    name = summary = "flushed"
    kinds = ("flush",)

    def start(self, trace):
        self.lines = set()

    def event(self, event):
        self.lines.add(event.line)


def measure_rules(trace):
    for rule in (Wide(), Flushed()):
        took, _ = seconds(lambda rule=rule: fencepost.apply([rule], trace))
        print(f"         rule {rule.name:<12} {took:6.2f} s, {trace.event_count / took / 1e6:.1f} M events/s")


def measure_questions(trace):
    print(f"questions of {trace.event_count / 1e6:.1f} M events")
    for name, query in QUESTIONS.items():
        took, rows = seconds(lambda query=query: trace.sql(query))
        print(f"         {name:<48}{took:6.2f} s {len(rows):8} rows")


SMALL = {"pm": {"size": "64M"}, "file_system": {"type": "ext4"},
         "workload": {"kind": "script", "text": "for i in 1 2 3 4 5 6 7 8; do echo $i >f$i; mv f$i g$i; done; sync"}}


def looks(guest):
    names = guest.tree()
    if "g1" in names:
        guest.read("g1")
    guest.run(["true"])


def measure_oracle(folder):
    """What a function costs an image beyond what guests do."""
    run = fencepost.record(SMALL, folder / "small", progress=lambda text, numbers: None)
    for name, oracle in (("that does nothing", lambda guest: None), ("with tree, read, run", looks)):
        report = run.test(oracles=oracle, strategy="none-all,random:9", limit=400, jobs=1, confirm=0, restart=True,
                          minimize_seconds=None, progress=lambda text, numbers: None)
        print(f"         oracle {name:<21} {1000 * report['oracle_seconds'] / report['tested']:6.3f} ms an image beyond the "
              f"guest's {1000 * report['guest_seconds'] / report['tested']:.1f} ms, {report['tested']} images")


def main(trace_bench, *arguments):
    smoke = "--smoke" in arguments
    runs = [argument for argument in arguments if argument != "--smoke"]
    with tempfile.TemporaryDirectory(prefix="python_bench") as scratch:
        folder = pathlib.Path(scratch)
        for millions in [1] if smoke else [10]:
            path = folder / f"{millions}.db"
            subprocess.run([trace_bench, "--write", path, str(millions)], check=True)
            with fencepost.Trace(path) as trace:
                measure_blocks(trace)
                measure_rules(trace)
                measure_group_by(trace, folder)
                if smoke:
                    measure_questions(trace)
        if not smoke:
            measure_oracle(folder)
        for run in runs:
            with fencepost.Trace(run) as trace:
                measure_questions(trace)
    print(f"peak memory {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10} MiB")


if __name__ == "__main__":
    main(*sys.argv[1:])
