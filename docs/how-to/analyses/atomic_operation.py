# SPDX-License-Identifier: GPL-2.0-or-later
"""AGAMOTTO's atomic operation oracle (OSDI 2020): a structure changes in libpmemobj's transactions alone, and what changes
was added to them.

atomic_operation.py RUN FUNCTION...     the functions that change the structure
"""

import collections
import sys

import fencepost


class AtomicOperation(fencepost.Rule):
    name, summary = "atomic-operation", "a structure changes without a transaction that can undo it"
    kinds = ("store", "nt_store", "flush", "fence")
    begins = (" pmemobj_tx_begin", " pmemobj_tx_add", " pmemobj_tx_alloc", " pmemobj_tx_zalloc")
    ends = (" pmemobj_tx_commit", " pmemobj_tx_process", " pmemobj_tx_abort")
    updaters = ()  # functions that change the structure

    def start(self, trace):
        self.site = dict(trace.rows("SELECT site, function FROM site_name"))
        self.below = collections.defaultdict(str)  # by stack: functions, each behind a blank
        for stack, function in trace.rows("SELECT stack, function FROM stack_line"):
            self.below[stack] += f" {function}"
        self.open, self.ending, self.changed = False, False, {}

    def event(self, event):
        begins = any(name in self.below[event.stack] for name in self.begins)
        if any(name in self.below[event.stack] for name in self.ends):
            self.ending = True
            if event.kind == "flush":  # a commit flushes what was added or allocated, and nothing else
                self.changed.pop(event.line, None)
        elif begins or (event.value and self.site.get(event.site) in self.updaters):
            self.finish()
            self.open = self.open or begins
            if not begins and not self.open:
                self.report(event.seq, "changed outside of a transaction")
            elif not begins:
                self.changed.setdefault(event.line, event.seq)

    def finish(self):
        if self.ending:
            for seq in self.changed.values():
                self.report(seq, "changed in a transaction that it was not added to")
            self.open, self.ending, self.changed = False, False, {}


if __name__ == "__main__":
    AtomicOperation.updaters = sys.argv[2:]
    with fencepost.Trace(sys.argv[1]) as trace:
        for finding in fencepost.apply([AtomicOperation()], trace):
            code = finding["places"][0]["site"]
            print(f"{finding['count']:6} times: {finding['title']}, at {code['function']}+{code['offset']:#x}"
                  + (f" ({code['source_file']}:{code['source_line']})" if code["source_line"] else ""))
