# SPDX-License-Identifier: GPL-2.0-or-later
"""What the rows say together: planted, found, missed, false positives."""
import collections


def finding_key(finding):
    return finding["rule"], finding["function"]


def correct_findings(results):
    """What rules say about correct variants: that alone shows no bug of another variant."""
    known = collections.defaultdict(set)
    for result in results:
        if not result["bug"] and result["rules"]:
            known[result["target"]].update(finding_key(each) for each in result["rules"]["findings"])
    return known


def judge(result, known):
    """(found by rules, found by states) of a row with a bug."""
    wanted = "performance" if result["severity"] == "performance" else "bug"
    rules = [each for each in (result["rules"] or {}).get("findings", [])
             if each["severity"] == wanted and finding_key(each) not in known[result["target"]]]
    states = [each for each in (result["states"] or {}).get("findings", []) if each["severity"] == "bug"]
    return rules, states


def correct_variant(result):
    """What was said about code that is right. Waste may be true of what lies below it: Linux flushes whole pages."""
    rules = [each for each in (result["rules"] or {}).get("findings", []) if each["severity"] in ("bug", "performance")]
    states = [each for each in (result["states"] or {}).get("findings", []) if each["severity"] == "bug"]
    return rules, states


def summarize(results, seconds):
    known = correct_findings(results)
    classes = {}
    rows = []
    for result in results:
        row = {key: result[key] for key in ("target", "bug", "workload", "class", "severity", "kind", "error")}
        states = result["states"] or {}
        row["states"] = states.get("states", 0)
        row["tested"] = sum(states.get("verdicts", {}).values())
        row["infra_errors"] = states.get("verdicts", {}).get("infra_error", 0)
        row["seconds"] = result["seconds"]
        row["first_detection"] = states.get("first_detection")
        if result["bug"]:
            by_rules, by_states = judge(result, known)
            row["by_rules"] = sorted({each["rule"] for each in by_rules})
            row["by_states"] = sorted({f"{each['verdict']} ({each['oracle']})" for each in by_states})
            row["found"] = bool(by_rules if result["severity"] == "performance" else by_rules or by_states)
            entry = classes.setdefault((result["severity"], result["class"]), collections.Counter())
            entry["planted"] += 1
            entry["found"] += row["found"]
            entry["by_rules"] += bool(by_rules)
            entry["by_states"] += bool(by_states)
        else:
            by_rules, by_states = correct_variant(result)
            row["rule_bugs"] = sum(each["severity"] == "bug" for each in by_rules)
            row["by_rules"] = sorted({f"{each['rule']} in {each['function']}" for each in by_rules})
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
        "infra_errors": sum(row["infra_errors"] for row in rows),
        "seconds": round(seconds, 1),
        "rows": rows,
    }


def share(found, planted):
    return f"{found} of {planted} ({100 * found / planted:.0f} %)" if planted else "none planted"


def row_line(row):
    first = "" if row["first_detection"] is None else f"{row['first_detection']:.1f}"
    return (f"| {row['target']} | {row['bug'] or '(correct)'} | {row['class']} | {', '.join(row['by_rules'])} "
            f"| {', '.join(row['by_states'])} | {row['states']} | {row['tested']} | {first} | {row['seconds']} "
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
        f"{table['infra_errors']} images with infra errors",
        "",
        "| severity | class | planted | found | by rules | by states |",
        "|---|---|---|---|---|---|",
    ]
    lines += [f"| {each['severity']} | {each['class']} | {each['planted']} | {each['found']} | {each['by_rules']} "
              f"| {each['by_states']} |" for each in table["classes"]]
    head = ["", "| target | bug | class | rules | states | crash states | images | first detection, s | all, s | trouble |",
            "|---|---|---|---|---|---|---|---|---|---|"]
    missed = [row for row in table["rows"] if row["bug"] and not row["found"]]
    lines += ["", "Missed: " + (", ".join(f"{row['target']}:{row['bug']}" for row in missed) or "none") + "."]
    lines += head + [row_line(row) for row in table["rows"]]
    return "\n".join(lines) + "\n"


def exit_status(table):
    """0: all that was planted was found, and nothing else."""
    complete = table["found"] == table["planted"]
    silent = not table["correct"]["with_state_findings"] and not table["correct"]["with_rule_bugs"]
    return 0 if complete and silent and not table["errors"] else 1
