# SPDX-License-Identifier: GPL-2.0-or-later
"""What the rows say together: planted, found, missed, false positives."""
import collections


def rule_key(finding):
    """The same code in another row: functions and callers, without where a library was loaded."""
    return finding["rule"], finding["function"], *finding["callers"]


def state_key(finding):
    return finding["verdict"], finding["oracle"], finding["summary"]


def of_correct_variants(results):
    """What is said about correct variants: that alone shows no bug of another variant."""
    rules, states, known = collections.defaultdict(set), collections.defaultdict(set), set()
    for result in results:
        if not result["bug"] and not result["error"]:
            known.add((result["target"], result["workload"]))
            rules[result["target"]].update(map(rule_key, result["rules"]["findings"]))
            states[result["target"]].update(map(state_key, result["states"]["findings"]))
    return rules, states, known


def findings_of(result, part, severity):
    return [each for each in (result[part] or {}).get("findings", []) if each["severity"] == severity]


def judge(result, correct):
    """(found by rules, found by states) of a row with a bug: what its correct variant has not. A performance bug must be
    found by the rule that it is named for."""
    known_rules, known_states, _ = correct
    is_performance = result["severity"] == "performance"
    rules = [each for each in findings_of(result, "rules", "performance" if is_performance else "bug")
             if rule_key(each) not in known_rules[result["target"]] and (not is_performance or each["rule"] == result["class"])]
    states = [each for each in findings_of(result, "states", "bug")
              if state_key(each) not in known_states[result["target"]]]
    return rules, states


def bugs_in_right_code(result):
    """(by rules, by states) of a row that has no correctness bug."""
    return findings_of(result, "rules", "bug"), findings_of(result, "states", "bug")


def summarize(results, seconds):
    correct_ones = of_correct_variants(results)
    classes = {}
    rows = []
    for result in results:
        row = {key: result[key] for key in ("target", "bug", "workload", "class", "severity", "kind", "missed", "error")}
        states = result["states"] or {}
        row["states"] = states.get("states", 0)
        row["tested"] = sum(states.get("verdicts", {}).values())
        row["infra_errors"] = states.get("verdicts", {}).get("infra_error", 0)
        row["seconds"] = result["seconds"]
        row["first_detection"] = states.get("first_detection")
        row["stop"] = states.get("stop")
        row["warnings"] = len(findings_of(result, "rules", "warning")) + len(findings_of(result, "states", "warning"))
        if result["bug"] and not row["error"] and (result["target"], result["workload"]) not in correct_ones[2]:
            row["error"] = "its correct variant could not be run: nothing to compare with"
        if result["severity"] != "correctness":
            by_rules, by_states = bugs_in_right_code(result)
            row["false_bugs"] = len(by_rules) + len(by_states)
        if result["bug"]:
            by_rules, by_states = judge(result, correct_ones)
            row["by_rules"] = sorted({each["rule"] for each in by_rules})
            row["by_states"] = sorted({f"{each['verdict']} ({each['oracle']})" for each in by_states})
            row["found"] = not row["error"] and bool(
                by_rules if result["severity"] == "performance" else by_rules or by_states)
            entry = classes.setdefault((result["severity"], result["class"]), collections.Counter())
            entry["planted"] += 1
            entry["found"] += row["found"]
            entry["by_rules"] += bool(by_rules)
            entry["by_states"] += bool(by_states)
        else:
            waste = findings_of(result, "rules", "performance")  # may be true of what lies below: Linux flushes whole pages
            row["rule_bugs"] = len(by_rules)
            row["by_rules"] = sorted({f"{each['rule']} in {each['function']}" for each in by_rules + waste})
            row["by_states"] = sorted({f"{each['verdict']} ({each['oracle']}): {each['summary']}" for each in by_states})
        rows.append(row)
    planted = collections.Counter(row["severity"] for row in rows if row["bug"])
    found = collections.Counter(row["severity"] for row in rows if row["bug"] and row["found"])
    correct = [row for row in rows if not row["bug"] and row["kind"] != "example"]
    return {
        "planted": dict(planted),
        "found": dict(found),
        "classes": [{"severity": severity, "class": name, **entry} for (severity, name), entry in sorted(classes.items())],
        "correct": {
            "variants": len(correct),
            "states": sum(row["states"] for row in correct),
            "images": sum(row["tested"] for row in correct),
            "with_rule_bugs": sum(bool(row["rule_bugs"]) for row in correct),
            "with_performance_findings": sum(bool(row["by_rules"]) and not row["rule_bugs"] for row in correct),
            "with_state_findings": sum(bool(row["by_states"]) for row in correct),
        },
        "errors": sum(bool(row["error"]) for row in rows),
        "false_bugs": sum(row.get("false_bugs", 0) for row in rows if row["kind"] != "example"),
        "missed": [f"{row['target']}:{row['bug']}" for row in rows if row["bug"] and not row["found"]],
        "expected_to_miss": [f"{row['target']}:{row['bug']}" for row in rows if row["bug"] and row["missed"]],
        "infra_errors": sum(row["infra_errors"] for row in rows),
        "seconds": round(seconds, 1),
        "rows": rows,
    }


def share(found, planted):
    return f"{found} of {planted} ({100 * found / planted:.0f} %)" if planted else "none planted"


def row_line(row):
    first = "" if row["first_detection"] is None else f"{row['first_detection']:.1f}"
    return (f"| {row['target']} | {row['bug'] or '(correct)'} | {row['class']} | {', '.join(row['by_rules'])} "
            f"| {', '.join(row['by_states'])} | {row['warnings'] or ''} | {row['states']} | {row['tested']} "
            f"| {row['stop'] or ''} | {first} | {row['seconds']} "
            f"| {row['error'] or ''} |")


def markdown(table, results):
    planted, found, correct = table["planted"], table["found"], table["correct"]
    lines = [
        f"- correctness bugs: {share(found.get('correctness', 0), planted.get('correctness', 0))} found",
        f"- performance bugs: {share(found.get('performance', 0), planted.get('performance', 0))} found by rules",
        f"- correct variants: {correct['variants']}, {correct['states']} crash states, {correct['images']} images tested; "
        f"{correct['with_state_findings']} with bugs by states, {correct['with_rule_bugs']} with bugs by rules, "
        f"{correct['with_performance_findings']} with performance findings only",
        f"- rows: {len(table['rows'])} in {table['seconds']} s, {table['errors']} could not be run, "
        f"{table['infra_errors']} images with infra errors; {table['false_bugs']} bugs seen where there are none",
        "",
        "| severity | class | planted | found | by rules | by states |",
        "|---|---|---|---|---|---|",
    ]
    lines += [f"| {each['severity']} | {each['class']} | {each['planted']} | {each['found']} | {each['by_rules']} "
              f"| {each['by_states']} |" for each in table["classes"]]
    head = ["", "| target | bug | class | rules | states | warnings | crash states | images | until | first detection, s | all, s | trouble |",
            "|---|---|---|---|---|---|---|---|---|---|---|---|"]
    lines += ["", "Missed: " + (", ".join(table["missed"]) or "none") + "; known beforehand: " +
              (", ".join(table["expected_to_miss"]) or "none") + "."]
    lines += head + [row_line(row) for row in table["rows"]]
    return "\n".join(lines) + "\n"


def exit_status(table):
    """0: what was planted was found, but for what is known to be missed; no bugs were seen where there are none; every row
    could be run and every image judged."""
    as_expected = table["missed"] == table["expected_to_miss"]
    return 0 if as_expected and not table["false_bugs"] and not table["errors"] and not table["infra_errors"] else 1
