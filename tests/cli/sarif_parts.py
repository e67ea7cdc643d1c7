# SPDX-License-Identifier: GPL-2.0-or-later
"""What SARIF 2.1.0 (OASIS, sections 3.13 to 3.55) requires of the objects that we write, restated: not its schema's text."""
import re

LEVELS = {"none", "note", "warning", "error"}
KINDS = {"pass", "open", "informational", "notApplicable", "review", "fail"}
BASELINE = {"new", "unchanged", "updated", "absent"}
TEXT, NUMBER, LIST, OBJECT = str, int, list, dict

# Of each object: required properties, and all that we may write, with their types.
OBJECTS = {
    "log": ({"version", "runs"}, {"$schema": TEXT, "version": TEXT, "runs": LIST}),
    "run": ({"tool"}, {"tool": OBJECT, "invocations": LIST, "results": LIST}),
    "tool": ({"driver"}, {"driver": OBJECT}),
    "driver": ({"name"}, {"name": TEXT, "version": TEXT, "rules": LIST}),
    "rule": ({"id"}, {"id": TEXT, "shortDescription": OBJECT, "fullDescription": OBJECT, "defaultConfiguration": OBJECT}),
    "configuration": (set(), {"level": TEXT}),
    "message": ({"text"}, {"text": TEXT}),
    "invocation": ({"executionSuccessful"}, {"executionSuccessful": bool, "toolExecutionNotifications": LIST}),
    "notification": ({"message"}, {"level": TEXT, "message": OBJECT}),
    "result": ({"message"}, {"ruleId": TEXT, "ruleIndex": NUMBER, "level": TEXT, "kind": TEXT, "message": OBJECT, "locations": LIST,
                             "relatedLocations": LIST, "stacks": LIST, "partialFingerprints": OBJECT, "properties": OBJECT,
                             "occurrenceCount": NUMBER, "baselineState": TEXT}),
    "location": (set(), {"id": NUMBER, "logicalLocations": LIST, "physicalLocation": OBJECT, "message": OBJECT}),
    "logical": (set(), {"name": TEXT, "kind": TEXT, "fullyQualifiedName": TEXT}),
    "physical": ({"artifactLocation"}, {"artifactLocation": OBJECT, "region": OBJECT}),
    "artifact": ({"uri"}, {"uri": TEXT}),
    "region": (set(), {"startLine": NUMBER}),
    "stack": ({"frames"}, {"message": OBJECT, "frames": LIST}),
    "frame": (set(), {"location": OBJECT}),
}
# What is in the objects and lists above.
INSIDE = {
    "log": {"runs": "run"},
    "run": {"tool": "tool", "invocations": "invocation", "results": "result"},
    "tool": {"driver": "driver"},
    "driver": {"rules": "rule"},
    "rule": {"shortDescription": "message", "fullDescription": "message", "defaultConfiguration": "configuration"},
    "invocation": {"toolExecutionNotifications": "notification"},
    "notification": {"message": "message"},
    "result": {"message": "message", "locations": "location", "relatedLocations": "location", "stacks": "stack"},
    "location": {"logicalLocations": "logical", "physicalLocation": "physical", "message": "message"},
    "physical": {"artifactLocation": "artifact", "region": "region"},
    "stack": {"message": "message", "frames": "frame"},
    "frame": {"location": "location"},
}
VALUES = {"level": LEVELS, "baselineState": BASELINE}


def mistakes_in(kind, value, where):
    required, allowed = OBJECTS[kind]
    if not isinstance(value, dict):
        return [f"{where}: no object"]
    wrong = [f"{where}: lacks {name}" for name in sorted(required - value.keys())]
    for name, inner in value.items():
        at = f"{where}.{name}"
        if name not in allowed:
            wrong.append(f"{at}: no such property")
        elif not isinstance(inner, allowed[name]) or (allowed[name] is NUMBER and isinstance(inner, bool)):
            wrong.append(f"{at}: {inner!r} is no {allowed[name].__name__}")
        elif name in VALUES and inner not in VALUES[name]:
            wrong.append(f"{at}: {inner!r} is none of its values")
        elif name in INSIDE.get(kind, {}):
            for number, each in enumerate(inner if isinstance(inner, list) else [inner]):
                wrong += mistakes_in(INSIDE[kind][name], each, f"{at}[{number}]")
    return wrong


def mistakes(document):
    """One sentence each."""
    wrong = mistakes_in("log", document, "log")
    if document.get("version") != "2.1.0":
        wrong.append("version is not 2.1.0")
    for run in document.get("runs", []):
        rules = run["tool"]["driver"].get("rules", [])
        ids = [rule["id"] for rule in rules]
        if len(set(ids)) != len(ids):
            wrong.append("rules are not unique")
        for number, result in enumerate(run.get("results", [])):
            if result.get("kind", "fail") not in KINDS:
                wrong.append(f"result {number}: kind")
            if "ruleIndex" in result and (result["ruleIndex"] >= len(ids) or ids[result["ruleIndex"]] != result["ruleId"]):
                wrong.append(f"result {number}: ruleIndex is not that of ruleId")
            if result.get("occurrenceCount", 1) < 1:
                wrong.append(f"result {number}: occurrenceCount")
            if not all(isinstance(each, str) for each in result.get("partialFingerprints", {}).values()):
                wrong.append(f"result {number}: fingerprints are texts")
            for location in result.get("locations", []) + result.get("relatedLocations", []):
                physical = location.get("physicalLocation", {})
                if physical and not re.fullmatch(r"[A-Za-z0-9\-._~:/?#\[\]@!$&'()*+,;=%]*", physical["artifactLocation"].get("uri", "")):
                    wrong.append(f"result {number}: uri")
                if physical.get("region", {}).get("startLine", 1) < 1:
                    wrong.append(f"result {number}: startLine")
    return wrong
