# SPDX-License-Identifier: GPL-2.0-or-later
"""Runs with results, made without a guest: a trace from text, and results.db filled as a test would fill it."""
import pathlib
import sqlite3
import subprocess

SOURCE = pathlib.Path(__file__).resolve().parent.parent.parent
SCHEMA = SOURCE / "replayer/test/results.sql"
HOSTILE = "</script><img src=x onerror=alert(1)>&\"'{{name}}"


def quoted(text):
    return text.replace("\\", "\\\\").replace('"', "'")


def trace_text(epochs, operations, records=1):
    """Each epoch: records and a flag on lines of their own, all flushed, one fence."""
    lines = ["function append module=journal file=journal.c", "function set_flag module=journal", "function main module=app"]
    each = max(1, epochs // max(1, operations))
    number = 0
    for epoch in range(epochs):
        if operations and epoch % each == 0 and number < operations:
            number += 1
            lines.append(f'op_begin {number} "write {number} {quoted(HOSTILE) if number == 1 else "a file"}"')
        first = 64 * (records + 1) * (epoch % (4096 // records))
        flag = first + 64 * records
        for record in range(first, flag, 64):
            lines += [f"store pmem0+{record} 8 = {epoch + 1} @append:12 ^main:40",
                      f"store pmem0+{record + 8} 8 = {epoch + 7} @append:13 ^main:40"]
        lines.append(f"store pmem0+{flag} 8 = 1 @set_flag ^main:41")
        lines += [f"flush clwb pmem0+{record} @append:14" for record in range(first, flag, 64)]
        lines += [f"flush clwb pmem0+{flag} @set_flag+4", "fence sfence @set_flag+8"]
        if operations and (epoch + 1) % each == 0:
            lines.append(f"op_end {number} = 0")
    return "\n".join(lines) + "\n"


def make_trace(program, folder, text):
    folder.mkdir(parents=True)
    subprocess.run([program, "-", folder / "trace.db"], input=text, text=True, check=True)


def fences_of(folder, program):
    """The events that end epochs, and how many events there are."""
    said = subprocess.run([program, "sql", folder, "--format", "csv", "SELECT seq FROM event WHERE kind = 'fence'"],
                          capture_output=True, text=True, check=True).stdout.split()[1:]
    return [int(seq) for seq in said]


class Results:
    """results.db of a run; `with` commits it."""

    def __init__(self, folder):
        trace = sqlite3.connect(folder / "trace.db")
        (self.digest,) = trace.execute("SELECT event_digest FROM recording").fetchone()
        self.database = sqlite3.connect(folder / "results.db")
        self.database.executescript(SCHEMA.read_text())
        self.images = 0
        self.insert("about", name="trace", value=self.digest)
        self.insert("about", name="oracles", value="mount")
        self.insert("about", name="baseline", value="initial,final")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.database.commit()
        self.database.close()

    def insert(self, table, **values):
        self.database.execute(f"INSERT INTO {table} ({', '.join(values)}) VALUES ({', '.join('?' * len(values))})",
                              list(values.values()))

    def session(self, **more):
        self.insert("session", **({"started": "2026-01-01T00:00:00Z", "strategy": "none-all", "model": "adr", "fences": "explicit",
                                   "seed": 1, "jobs": 1, "guest": "process, tcg, 6.1", "stop": "end", "seconds": 2.5,
                                   "generated": 4, "tested": 4} | more))

    def state(self, seq, choice="n"):
        return f"{self.digest[:8]}-aea-{seq}-{choice}"

    def image(self, seq, choices=("n",), verdict="pass", finding=None):
        """One image of several states."""
        self.images += 1
        self.insert("image", number=self.images, identity=self.images.to_bytes(16, "little"), expectation=0, session=1,
                    verdict=verdict, confirmed=0, disagreed=0, lost_guests=0, masked=0, finding=finding)
        for choice in choices:
            self.insert("origin", image=self.images, seq=seq, state=self.state(seq, choice), architectural=1)
        return self.images

    def finding(self, finding, seq, choice, summary="the flag is set and the record is not there", details="{}", **more):
        """A failing image and the finding that it shows."""
        image = self.image(seq, (choice,), "inconsistent", finding)
        self.insert("evidence", image=image, oracle="mount", verdict="inconsistent", summary=summary, details=details,
                    title=summary)
        self.insert("finding", **({"id": finding, "severity": "bug", "verdict": "inconsistent", "oracle": "mount",
                                   "summary": summary, "decides": "order", "absent_sites": "[]", "present_sites": "[]",
                                   "absent_code": "[]", "present_code": "[]", "scope": "", "callers": "[]", "other_ids": "[]", "unfenced": 0,
                                   "image": image, "state": self.state(seq, choice), "images": 1} | more))
        return image


def site_of(folder, function):
    trace = sqlite3.connect(folder / "trace.db")
    return trace.execute("SELECT site.id FROM site JOIN symbol ON symbol.id = site.symbol WHERE symbol.name = ? "
                         "ORDER BY site.id", (function,)).fetchone()[0]


def make_small_run(program, make_trace_program, folder):
    """Three epochs; power fails in the second one and leaves the flag without the record: finding 0123456789ab."""
    make_trace(make_trace_program, folder, trace_text(3, 2))
    fences = fences_of(folder, program)
    append, flag = site_of(folder, "append"), site_of(folder, "set_flag")
    said = subprocess.run([program, "sql", folder, "--format", "csv", "SELECT seq FROM event WHERE kind = 'store'"],
                          capture_output=True, text=True, check=True).stdout.split()[1:]
    stores = [int(seq) for seq in said]
    with Results(folder) as results:
        results.session()
        results.insert("baseline", image="initial", oracle="log", verdict="inconsistent", summary="it is chatty", masked=1,
                       details="{}")
        results.image(fences[0], ("n", "a"))
        results.image(fences[2], ("n", "a"))
        results.finding("0123456789ab", fences[1], "n+1.1", summary=f"the flag is set {HOSTILE}",
                        details='{"output": "line one\\nline two </pre><b>"}',
                        absent_seq=stores[3], absent_site=append, absent_stack=1, absent_name="append", absent_operation="write 1",
                        absent_sites=f"[{append}]", present_seq=stores[5], present_site=flag, present_stack=1,
                        present_name="set_flag", present_operation="write 1", present_sites=f"[{flag}]",
                        last_seq=stores[5], last_site=flag, last_stack=1, last_name="set_flag", last_operation="write 1")
    return folder
