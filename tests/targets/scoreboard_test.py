#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""What the scoreboard makes of its rows: which it keeps, and what its exit status says. No guest is started."""
import argparse
import importlib.machinery
import importlib.util
import pathlib
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

import scoreboard_table  # noqa: E402
import scoreboard_targets  # noqa: E402


def load_scoreboard():
    loader = importlib.machinery.SourceFileLoader("scoreboard", str(HERE / "scoreboard"))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("scoreboard", loader))
    loader.exec_module(module)
    return module


def finding(title, severity="bug", function="write_bytes"):
    return {"severity": severity, "verdict": "inconsistent", "oracle": "semantic", "summary": "in short: " + title,
            "title": title, "state": "1", "functions": [function]}


def result(bug="", findings=(), severity=None, **other):
    row = {"target": "t", "bug": bug, "workload": "w", "mode": "", "mode_name": "", "class": "c", "kind": "program", "missed": "",
           "severity": severity or ("correctness" if bug else "none"), "title": "", "place": "", "expected_healthy": [],
           "known_warnings": [], "error": None, "seconds": 1.0, "rules": {"findings": []},
           "states": {"findings": list(findings), "states": 10, "verdicts": {"pass": 5}, "stop": "end",
                      "first_detection": None, "healthy": []}}
    row.update(other)
    return row


def status(*results):
    return scoreboard_table.exit_status(scoreboard_table.summarize(list(results), 1.0))


class Table(unittest.TestCase):
    def test_found_and_silent(self):
        self.assertEqual(status(result(), result("b", [finding("torn")])), 0)
        self.assertEqual(status(result(), result("b")), 1, "missed")
        self.assertEqual(status(result(), result("b", missed="why")), 0, "known to be missed")
        self.assertEqual(status(result(findings=[finding("torn")]), result("b", [finding("torn")])), 1, "the correct one has it too")

    def test_warnings_of_correct_variants_count(self):
        warned = [finding("odd", "warning")]
        self.assertEqual(status(result(findings=warned)), 1)
        self.assertEqual(status(result(findings=warned, known_warnings=["odd"])), 0)
        self.assertEqual(status(result(), result("slow", warned, "performance", rules={"findings": [
            {"rule": "c", "severity": "performance", "function": "f", "callers": []}]})), 1)

    def test_warnings_of_code_without_symbols(self):
        def warned(function, known):
            rule = {"rule": "torn-store", "severity": "warning", "function": function, "callers": ["lib.so+0x1", "open", "main"]}
            return status(result(rules={"findings": [rule]}, known_warnings=[known]))

        self.assertEqual(warned("lib.so+0x1e456", "torn-store below open"), 0)
        self.assertEqual(warned("0x7f1200000456", "torn-store below open"), 0)
        self.assertEqual(warned("insert", "torn-store in insert"), 0)
        self.assertEqual(warned("insert", "torn-store below open"), 1)

    def test_examples_count(self):
        self.assertEqual(status(result(kind="example")), 0)
        self.assertEqual(status(result(kind="example", findings=[finding("torn")])), 1)
        self.assertEqual(status(result(kind="example", findings=[finding("odd", "warning")])), 1)
        table = scoreboard_table.summarize([result(kind="example", findings=[finding("odd", "warning")])], 1.0)
        text = scoreboard_table.markdown(table, [])
        self.assertIn("- warnings in examples: 1, 0 of them known beforehand", text)
        self.assertIn("- warnings in correct variants: 0,", text)

    def test_title_and_place(self):
        def bug(**expected):
            return status(result(), result("b", [finding("torn write"), finding("other", function="elsewhere")], **expected))

        self.assertEqual(bug(title="torn write", place="write_bytes"), 0)
        self.assertEqual(bug(title="torn"), 1)
        self.assertEqual(bug(title="torn write", place="elsewhere"), 1)
        self.assertEqual(bug(place="elsewhere"), 0)


    def test_what_is_said_without_a_crash(self):
        def chatty(said, **expected):
            row = result(**expected)
            row["states"]["healthy"] = said
            return status(row)

        self.assertEqual(chatty(["log: inode 2 was written"], expected_healthy=["log: inode 17 was written"]), 0)
        self.assertEqual(chatty(["log: inode 2 was written"]), 1, "not expected")
        self.assertEqual(chatty([], expected_healthy=["log: inode 2 was written"]), 1, "not said")


    def test_functions_of_a_finding(self):
        def place(function, *callers):
            return {"site": {"function": function}, "stack": [{"function": caller} for caller in callers]}

        self.assertEqual(scoreboard_table.functions_of({"places": [place("libc.so.6+0x12")], "evidence": []}), ["libc.so.6"])
        self.assertEqual(scoreboard_table.functions_of(
            {"places": [place("memcpy", "write_bytes", "vfs_write"), place("memcpy")],
             "evidence": [{"details": {"function": "check_places"}}, {"details": None}]}),
            ["check_places", "memcpy", "vfs_write", "write_bytes"])


class Rows(unittest.TestCase):
    def test_identity_is_of_everything(self):
        scoreboard = load_scoreboard()
        with tempfile.TemporaryDirectory() as name:
            work = pathlib.Path(name)
            (work / "qemu-plugin").mkdir()
            files = [work / "fencepost", work / "qemu-plugin" / "tracer.so", work / "program"]
            for file in files:
                file.write_text("one")
            row = scoreboard_targets.Row("t", "", "w", "", "none", "program", "spec", files=(files[2],))

            def identity(image="one"):
                board = scoreboard.Scoreboard(argparse.Namespace(work=work, fencepost=files[0], build=work))
                board.images = {"default": image}
                return board.identity_of(row, ["--for", "1s"])

            before = identity()
            self.assertEqual(identity(), before)
            self.assertNotEqual(identity("two"), before, "the guest's image")
            for file in files:
                file.write_text("two")
                self.assertNotEqual(identity(), before, file.name)
                file.write_text("one")
            self.assertEqual(identity(), before)

    def test_every_row_has_its_correct_variant(self):
        rows = scoreboard_targets.all_rows(pathlib.Path("work"), pathlib.Path("build"))
        names = [row.name for row in rows]
        self.assertEqual(len(names), len(set(names)))
        correct = {(row.target, row.workload) for row in rows if not row.bug and not row.mode}
        self.assertEqual([row.name for row in rows if row.bug and (row.target, row.workload) not in correct], [])


if __name__ == "__main__":
    unittest.main()
