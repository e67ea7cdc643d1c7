# SPDX-License-Identifier: GPL-2.0-or-later
"""What a finding is worth: whether its minimal difference names the planted place, and whether both of its neighbours say
the same again in new guests."""
import json


def words(text):
    return {word.strip() for word in text.split(",") if word.strip()}


def plain(function):
    """Without the place in it, and without what a compiler adds to a name."""
    return function.split("+")[0].split(".")[0].split(" ")[0]


def places_of(minimal):
    """(functions of the stores that decide, and whoever called them)."""
    parts = [part for kind in ("persisted", "lost", "differ") for part in minimal[kind]]
    sites = {plain(part["function"]) for part in parts}
    callers = {plain(caller) for part in parts for caller in part["stack"]}
    return sites, callers


def repeats(fencepost, run, name, times, failing):
    """How often a finding or state does again what it did: (times, of them as expected)."""
    report = fencepost("reproduce", str(run), name, "--times", str(times), allowed=(0, 1))
    good = report["as_found"] if failing else sum(each["verdict"] == "pass" for each in report["attempts"])
    return [good, len(report["attempts"])]


def prove(fencepost, run, finding, where, times):
    proof = {"id": finding, "minimized": False, "tests": 0, "places": [], "named": False, "fails": None, "passes": None}
    file = run / "findings" / finding / "minimal.json"
    if file.exists():
        minimal = json.loads(file.read_text())
        sites, callers = places_of(minimal)
        planted = words(where)
        proof.update(minimized=True, tests=minimal["tests"]["count"], places=sorted(sites), named=bool(planted & (sites | callers)))
        if times and minimal["pass"]:
            proof["passes"] = repeats(fencepost, run, minimal["pass"]["state"], times, failing=False)
    if times:
        proof["fails"] = repeats(fencepost, run, finding, times, failing=True)
    return proof
