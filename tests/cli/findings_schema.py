# SPDX-License-Identifier: GPL-2.0-or-later
"""Findings against docs/reference/findings.schema.json. As a program: findings_schema.py FILE..., exit 1 if one does not fit.

A file holds a finding, a report of the rules, or what `fencepost test` or `fencepost run` say with --json.
"""
import functools
import json
import pathlib
import sys

import jsonschema

FILE = pathlib.Path(__file__).resolve().parents[2] / "docs/reference/findings.schema.json"


@functools.lru_cache
def validator(kind):
    schema = {**json.loads(FILE.read_text()), "oneOf": [{"$ref": f"#/$defs/{kind}"}]}
    jsonschema.Draft202012Validator.check_schema(schema)
    return jsonschema.Draft202012Validator(schema)


def mistakes(kind, document):
    """Each as one line: where in the document, and what is wrong there."""
    found = []
    for error in validator(kind).iter_errors(document):
        deepest = jsonschema.exceptions.best_match([error])
        found.append(f"{kind} at /{'/'.join(map(str, deepest.absolute_path))}: {deepest.message}")
    return found


def mistakes_in(document):
    """In whatever fencepost says about findings."""
    if "analyze" in document:
        return mistakes("report", document["analyze"]) + mistakes_in(document["test"])
    if "statements" in document:
        return mistakes("report", document)
    if "findings" in document:
        return [each for finding in document["findings"] for each in mistakes("finding", finding)]
    return mistakes("finding", document)


def main(files):
    found = [f"{file}: {each}" for file in files for each in mistakes_in(json.loads(pathlib.Path(file).read_text()))]
    print("\n".join(found), end="\n" if found else "")
    return 1 if found or not files else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
