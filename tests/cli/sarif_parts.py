# SPDX-License-Identifier: GPL-2.0-or-later
"""Whether a document is SARIF 2.1.0: which properties its objects have and must have says `sarif_om`, whose classes are made from
the schema of OASIS; types and values of those that we write are restated from the standard (sections 3.13 to 3.55)."""
import re

import attr
import sarif_om

LEVELS = {"none", "note", "warning", "error"}
KINDS = {"pass", "open", "informational", "notApplicable", "review", "fail"}
BASELINE = {"new", "unchanged", "updated", "absent"}
TEXT, NUMBER, LIST, OBJECT = str, int, list, dict

# Of each object its class, and the types of what we write.
OBJECTS = {
    "log": (sarif_om.SarifLog, {"$schema": TEXT, "version": TEXT, "runs": LIST}),
    "run": (sarif_om.Run, {"tool": OBJECT, "invocations": LIST, "results": LIST}),
    "tool": (sarif_om.Tool, {"driver": OBJECT}),
    "driver": (sarif_om.ToolComponent, {"name": TEXT, "version": TEXT, "rules": LIST}),
    "rule": (sarif_om.ReportingDescriptor,
             {"id": TEXT, "shortDescription": OBJECT, "fullDescription": OBJECT, "defaultConfiguration": OBJECT}),
    "configuration": (sarif_om.ReportingConfiguration, {"level": TEXT}),
    "description": (sarif_om.MultiformatMessageString, {"text": TEXT}),
    "message": (sarif_om.Message, {"text": TEXT}),
    "invocation": (sarif_om.Invocation, {"executionSuccessful": bool, "toolExecutionNotifications": LIST}),
    "notification": (sarif_om.Notification, {"level": TEXT, "message": OBJECT}),
    "result": (sarif_om.Result,
               {"ruleId": TEXT, "ruleIndex": NUMBER, "level": TEXT, "kind": TEXT, "message": OBJECT, "locations": LIST,
                "relatedLocations": LIST, "stacks": LIST, "partialFingerprints": OBJECT, "properties": OBJECT,
                "occurrenceCount": NUMBER, "baselineState": TEXT}),
    "location": (sarif_om.Location, {"id": NUMBER, "logicalLocations": LIST, "physicalLocation": OBJECT, "message": OBJECT}),
    "logical": (sarif_om.LogicalLocation, {"name": TEXT, "kind": TEXT, "fullyQualifiedName": TEXT}),
    "physical": (sarif_om.PhysicalLocation, {"artifactLocation": OBJECT, "region": OBJECT}),
    "artifact": (sarif_om.ArtifactLocation, {"uri": TEXT}),
    "region": (sarif_om.Region, {"startLine": NUMBER}),
    "stack": (sarif_om.Stack, {"message": OBJECT, "frames": LIST}),
    "frame": (sarif_om.StackFrame, {"location": OBJECT}),
}
# What is in the objects and lists above.
INSIDE = {
    "log": {"runs": "run"},
    "run": {"tool": "tool", "invocations": "invocation", "results": "result"},
    "tool": {"driver": "driver"},
    "driver": {"rules": "rule"},
    "rule": {"shortDescription": "description", "fullDescription": "description", "defaultConfiguration": "configuration"},
    "invocation": {"toolExecutionNotifications": "notification"},
    "notification": {"message": "message"},
    "result": {"message": "message", "locations": "location", "relatedLocations": "location", "stacks": "stack"},
    "location": {"logicalLocations": "logical", "physicalLocation": "physical", "message": "message"},
    "physical": {"artifactLocation": "artifact", "region": "region"},
    "stack": {"message": "message", "frames": "frame"},
    "frame": {"location": "location"},
}
VALUES = {"level": LEVELS, "baselineState": BASELINE}


def properties_of(standard):
    """(all, required) of a class."""
    fields = {each.metadata["schema_property_name"]: each.default is attr.NOTHING for each in attr.fields(standard)}
    return set(fields), {name for name, required in fields.items() if required}


def mistakes_in(kind, value, where):
    standard, types = OBJECTS[kind]
    allowed, required = properties_of(standard)
    if not isinstance(value, dict):
        return [f"{where}: no object"]
    wrong = [f"{where}: lacks {name}" for name in sorted(required - value.keys())]
    for name, inner in value.items():
        at = f"{where}.{name}"
        if name not in allowed:
            wrong.append(f"{at}: no such property")
        elif name not in types:
            wrong.append(f"{at}: its type is not known here")
        elif not isinstance(inner, types[name]) or (types[name] is NUMBER and isinstance(inner, bool)):
            wrong.append(f"{at}: {inner!r} is no {types[name].__name__}")
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
