# SPDX-License-Identifier: GPL-2.0-or-later
"""The report of a large run: time and memory to make it, its size, and how long Chromium takes to open it.

report_bench.py PROGRAM MAKE_TRACE [--smoke]
"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "cli"))

import browser  # noqa: E402
import made_run  # noqa: E402

MOST_BYTES = 20 << 20
MOST_MEMORY = 200 << 20
MOST_SECONDS = 2  # to open


def make_run(folder, make_trace, program, epochs, states, findings):
    made_run.make_trace(make_trace, folder, made_run.trace_text(epochs, epochs // 5, 8))
    fences = made_run.fences_of(folder, program)
    each = states // epochs
    with made_run.Results(folder) as results:
        results.session(generated=states, tested=states)
        for number, seq in enumerate(fences):
            if number % max(1, epochs // findings) == 1:
                results.finding(f"{number:012x}", seq, "n+1.1", summary=f"record {number} is damaged")
            results.image(seq, [f"r1.{index}" for index in range(each)])


def main():
    smoke = "--smoke" in sys.argv
    program, make_trace = (os.path.abspath(each) for each in sys.argv[1:3])
    epochs, states, findings = (500, 5_000, 5) if smoke else (10_000, 100_000, 40)
    with tempfile.TemporaryDirectory() as home:
        folder = pathlib.Path(home) / "run"
        make_run(folder, make_trace, program, epochs, states, findings)
        started = time.monotonic()
        with subprocess.Popen([program, "-q", "report", folder], stdout=subprocess.DEVNULL) as process:
            _, status, usage = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
        seconds = time.monotonic() - started
        assert process.returncode == 0
        page = folder / "report.html"
        document = json.loads((folder / "report.json").read_text())
        assert len(document["coverage"]["epochs"]) >= epochs
        wrong = []
        print(f"{epochs} epochs, {states} states, {document['recording']['events']} events, {len(document['findings'])} findings")
        print(f"made in     {seconds:.1f} s")
        for what, value, most in (("memory", usage.ru_maxrss << 10, MOST_MEMORY), ("size", page.stat().st_size, MOST_BYTES)):
            print(f"{what:<12}{value / (1 << 20):.1f} MiB, at most {most >> 20}")
            if value > most:
                wrong.append(what)
        if browser.program():
            with browser.Page(page) as shown:
                print(f"opened in   {shown.seconds:.2f} s, at most {MOST_SECONDS}; complaints: {shown.complaints or 'none'}")
                if shown.complaints:
                    wrong.append("complaints")
                if shown.seconds > MOST_SECONDS and not smoke:
                    wrong.append("time to open")
        else:
            print("not opened: chromium is not installed")
        if wrong:
            sys.exit("more than it may be: " + ", ".join(wrong))


if __name__ == "__main__":
    main()
