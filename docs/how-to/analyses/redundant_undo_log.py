# SPDX-License-Identifier: GPL-2.0-or-later
"""AGAMOTTO's oracle for redundant undo logs (OSDI 2020): what a transaction logs that it has logged before.

redundant_undo_log.py RUN LOG-FUNCTION COMMIT-FUNCTION [ENTRY-BYTES]

For logs whose entries have ENTRY-BYTES each and begin with what they save: the address, offset or number of a word.
"""

import sys

import fencepost


class RedundantUndoLog(fencepost.Rule):
    name, severity = "redundant-undo-log", "performance"
    summary = "a transaction logs what it has logged before"
    kinds = ("store", "nt_store", "flush", "fence")

    def __init__(self, log, commit, entry=16):
        super().__init__()
        self.log, self.commit, self.entry = log, commit, entry

    def start(self, trace):
        self.site = dict(trace.rows("SELECT site, function FROM site_name"))
        self.below = {0: set()}
        for stack, function in trace.rows("SELECT stack, function FROM stack_line"):
            self.below.setdefault(stack, set()).add(function)
        self.logged = {}

    def event(self, event):
        inside = self.below[event.stack] | {self.site.get(event.site)}
        if self.commit in inside:
            self.logged.clear()
        elif self.log in inside and event.value and event.address % self.entry == 0:
            what = int.from_bytes(event.value[:8], "little")
            first = self.logged.setdefault(what, event.seq)
            if first != event.seq:
                self.report(event.seq, f"{what:#x} is logged again", other=first, role="logged first")


if __name__ == "__main__":
    run, log, commit, *entry = sys.argv[1:]
    with fencepost.Trace(run) as trace:
        for finding in fencepost.apply([RedundantUndoLog(log, commit, *map(int, entry))], trace):
            code = finding["places"][0]
            print(f"{finding['count']:6} times: {finding['title']}, in {code['site']['function']}",
                  *(f"called by {frame['function']}" for frame in code["stack"][:1]))
