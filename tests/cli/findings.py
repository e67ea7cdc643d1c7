# SPDX-License-Identifier: GPL-2.0-or-later
"""What `analyze` says about every golden trace fits docs/reference/findings.schema.json, and its SARIF holds together."""
import copy
import importlib.util
import json
import os
import pathlib
import shlex
import subprocess
import sys
import tempfile
import unittest
import urllib.parse

import findings_schema

MAKE_TRACE = os.path.abspath(sys.argv.pop(2))
PROGRAM = os.path.abspath(sys.argv.pop(1))
GOLDEN = pathlib.Path(__file__).resolve().parent.parent / "golden"


def golden_module():
    spec = importlib.util.spec_from_file_location("golden_run", GOLDEN / "run.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def analyze_commands():
    """(name, trace text, other files, words of each `fencepost analyze RUN` that writes no file)"""
    golden = golden_module()
    for path in sorted(GOLDEN.glob("*.golden")):
        for lines in golden.cases(path):
            _, trace, _, commands, files = golden.parse(path, lines)
            words = [shlex.split(each) for each in commands]
            kept = {tuple(each for each in command[1:] if each != "--json"): None for command in words
                    if command[1:3] == ["analyze", "RUN"] and not {"--sarif", "--write-baseline"} & set(command)}
            if kept:
                yield path.name, trace, files, list(kept)


class Analyze(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        """Reports and SARIF documents of all commands that say something."""
        cls.reports, cls.sarif = [], []
        for name, trace, files, commands in analyze_commands():
            with tempfile.TemporaryDirectory() as directory:
                place = pathlib.Path(directory)
                (place / "RUN").mkdir()
                for file, lines in files.items():
                    (place / file).write_text("\n".join(lines) + "\n")
                subprocess.run([MAKE_TRACE, "-", "RUN/trace.db"], cwd=place, input=trace, text=True, check=True)
                for command in commands:
                    for into, options in ((cls.reports, ["--json"]), (cls.sarif, ["--sarif", "-"])):
                        said = subprocess.run([PROGRAM, *command, *options], cwd=place, capture_output=True, text=True)
                        if said.returncode in (0, 1):
                            into.append((f"{name}: {' '.join(command)}", json.loads(said.stdout)))

    def test_reports_fit_the_schema(self):
        self.assertGreater(len(self.reports), 30)
        self.assertEqual({finding["rule"] for _, report in self.reports for finding in report["findings"]},
                         {rule for _, report in self.reports for rule in report["rules"]}, "every rule has findings here")
        for name, report in self.reports:
            with self.subTest(name):
                self.assertEqual(findings_schema.mistakes_in(report), [])

    def test_the_schema_refuses(self):
        finding = next(report["findings"][0] for _, report in self.reports if report["findings"])
        self.assertEqual(findings_schema.mistakes("finding", finding), [])

        def broken(change):
            other = copy.deepcopy(finding)
            change(other)
            return findings_schema.mistakes("finding", other)

        for key in finding:
            self.assertNotEqual(broken(lambda each: each.pop(key)), [], f"without {key}")
        self.assertNotEqual(broken(lambda each: each.update(surprise=1)), [])
        self.assertNotEqual(broken(lambda each: each.update(severity="error")), [])
        self.assertNotEqual(broken(lambda each: each.update(kind="crash_state")), [])
        self.assertNotEqual(broken(lambda each: each.update(verdict="inconsistent")), [])
        self.assertNotEqual(broken(lambda each: each["places"][0].pop("role")), [])
        self.assertNotEqual(broken(lambda each: each["places"][0]["site"].update(offset="8")), [])

    def test_sarif_holds_together(self):
        self.assertEqual(len(self.sarif), len(self.reports))
        for (name, sarif), (_, report) in zip(self.sarif, self.reports):
            with self.subTest(name):
                self.assertEqual(sarif["version"], "2.1.0")
                [run] = sarif["runs"]
                rules = [rule["id"] for rule in run["tool"]["driver"]["rules"]]
                self.assertEqual(len(set(rules)), len(rules))
                self.assertEqual([result["partialFingerprints"]["fencepost/v1"] for result in run["results"]],
                                 [finding["id"] for finding in report["findings"]])
                for result, finding in zip(run["results"], report["findings"]):
                    self.assert_result(result, finding, rules)

    def assert_result(self, result, finding, rules):
        self.assertEqual(rules[result["ruleIndex"]], result["ruleId"])
        self.assertEqual(result["ruleId"], finding["rule"])
        self.assertEqual(result["level"], {"bug": "error", "warning": "warning", "performance": "note"}[finding["severity"]])
        self.assertTrue(result["message"]["text"].startswith(finding["title"]))
        self.assertEqual(result["occurrenceCount"], finding["count"])
        locations = result["locations"] + result.get("relatedLocations", [])
        copies = {"memcpy": "update", "strncpy": "put", "memcpy_flushcache": "jbd2_journal_commit_transaction"}  # who has them store
        self.assertEqual([each["logicalLocations"][0]["name"] for each in locations],
                         [copies.get(place["site"]["function"], place["site"]["function"]) for place in finding["places"]])
        self.assertEqual([len(stack["frames"]) for stack in result["stacks"]],
                         [1 + len(place["stack"]) for place in finding["places"]])
        for each in locations:
            if "physicalLocation" in each:
                uri = each["physicalLocation"]["artifactLocation"]["uri"]
                self.assertEqual(uri, urllib.parse.quote(urllib.parse.unquote(uri), safe="/:"))
                self.assertGreater(each["physicalLocation"].get("region", {"startLine": 1})["startLine"], 0)


if __name__ == "__main__":
    unittest.main(verbosity=2)
