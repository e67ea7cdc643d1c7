# SPDX-License-Identifier: GPL-2.0-or-later
"""What the rows say together: planted, found, missed, false positives."""
import collections
import re


def rule_key(finding):
    """The same code in another row: functions and callers, without where a library was loaded."""
    return finding["rule"], finding["function"], *finding["callers"]


def state_key(finding):
    return finding["verdict"], finding["oracle"], finding["summary"]


def functions_of(finding):
    """The functions whose stores decide, with their callers; of a crash, where it happened."""
    functions = {place["site"]["function"].split("+")[0] for place in finding["places"]}
    functions.update(caller["function"] for place in finding["places"] for caller in place["stack"])
    functions.update(each["details"]["function"] for each in finding["evidence"]
                     if isinstance(each["details"], dict) and each["details"].get("function"))
    return sorted(functions)


def mismatch(result, findings):
    """Why none of the findings is the one that the table describes; "" if one is, or if it describes none."""
    if not result["title"] and not result["place"]:
        return ""
    titled = [each for each in findings if not result["title"] or each["title"] == result["title"]]
    if not titled:
        return f"not called '{result['title']}'"
    if any(not result["place"] or result["place"] in each["functions"] for each in titled):
        return ""
    return f"not placed in {result['place']}"


def of_correct_variants(results):
    """What is said about correct variants: that alone shows no bug of another variant."""
    rules, states, known = collections.defaultdict(set), collections.defaultdict(set), set()
    for result in results:
        if not result["bug"] and not result["error"]:
            if not result["mode"]:
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


def has_name(function):
    return not function.startswith("0x") and "+0x" not in function


def rule_place(finding):
    """The function; of code without symbols, which is elsewhere in each process, the first caller that has a name."""
    if has_name(finding["function"]):
        return f"{finding['rule']} in {finding['function']}"
    return f"{finding['rule']} below {next(filter(has_name, finding['callers']), finding['function'])}"


def warning_texts(result):
    return sorted([rule_place(each) for each in findings_of(result, "rules", "warning")] +
                  [each["title"] for each in findings_of(result, "states", "warning")])


def without_numbers(text):
    return re.sub(r"[0-9]+", "#", text)


def healthy_difference(result):
    """What oracles say without a crash and should not, or do not say and should. Numbers do not matter."""
    said = {without_numbers(each) for each in (result["states"] or {}).get("healthy", [])}
    expected = {without_numbers(each) for each in result["expected_healthy"]}
    return [f"says '{each}'" for each in sorted(said - expected)] + [f"does not say '{each}'" for each in sorted(expected - said)]


def bugs_in_right_code(result):
    """(by rules, by states) of a row that has no correctness bug."""
    return findings_of(result, "rules", "bug"), findings_of(result, "states", "bug")


def name_of(row):
    return ":".join([row["target"], row["bug"] or "correct", row["workload"]] + ([row["mode"]] if row["mode"] else []))


def of_right_rows(rows):
    return {
        "variants": len(rows),
        "states": sum(row["states"] for row in rows),
        "images": sum(row["tested"] for row in rows),
        "with_rule_bugs": sum(bool(row["rule_bugs"]) for row in rows),
        "with_performance_findings": sum(bool(row["by_rules"]) and not row["rule_bugs"] for row in rows),
        "with_state_findings": sum(bool(row["by_states"]) for row in rows),
        "warnings": sum(len(row["warnings"]) for row in rows),
        "unknown_warnings": sum(len(row["unknown_warnings"]) for row in rows),
    }


def states_by_mode(rows):
    """Crash states of targets that are correct in several ways, by way."""
    modes = collections.Counter()
    for row in rows:
        if row["mode_name"]:
            modes[f"{row['target']} {row['mode_name']}"] += row["states"]
    return dict(modes)


def plain_row(result, correct_ones):
    row = {key: result[key] for key in ("target", "bug", "workload", "mode", "mode_name", "class", "severity", "kind", "missed", "error")}
    states = result["states"] or {}
    row["states"] = states.get("states", 0)
    row["tested"] = sum(states.get("verdicts", {}).values())
    row["infra_errors"] = states.get("verdicts", {}).get("infra_error", 0)
    row["seconds"] = result["seconds"]
    row["first_detection"] = states.get("first_detection")
    row["stop"] = states.get("stop")
    row["warnings"] = warning_texts(result)
    row["proofs"] = result.get("proofs") or []
    row["mismatch"] = ""
    row["healthy"] = sorted({without_numbers(each) for each in states.get("healthy", [])})
    if not result["bug"] and not row["error"]:
        row["mismatch"] = "; ".join("without a crash " + each for each in healthy_difference(result))
    if result["bug"] and not row["error"] and (result["target"], result["workload"]) not in correct_ones[2]:
        row["error"] = "its correct variant could not be run: nothing to compare with"
    return row


def add_what_was_found(row, result, correct_ones, classes):
    """Into the row, and for a planted bug into the counts of its class."""
    if result["severity"] != "correctness":
        by_rules, by_states = bugs_in_right_code(result)
        row["false_bugs"] = len(by_rules) + len(by_states)
        row["unknown_warnings"] = [each for each in row["warnings"] if each not in result["known_warnings"]]
    if result["bug"]:
        by_rules, by_states = judge(result, correct_ones)
        row["by_rules"] = sorted({each["rule"] for each in by_rules})
        row["by_states"] = sorted({f"{each['verdict']} ({each['oracle']})" for each in by_states})
        row["found"] = not row["error"] and bool(
            by_rules if result["severity"] == "performance" else by_rules or by_states)
        if row["found"]:
            row["mismatch"] = mismatch(result, by_states)
        entry = classes.setdefault((result["severity"], result["class"]), collections.Counter())
        entry["planted"] += 1
        entry["found"] += row["found"]
        entry["by_rules"] += bool(by_rules)
        entry["by_states"] += bool(by_states)
    else:
        waste = findings_of(result, "rules", "performance")  # may be true of what lies below: Linux flushes whole pages
        row["rule_bugs"] = len(by_rules)
        row["by_rules"] = sorted({f"{each['rule']} in {each['function']}" for each in by_rules + waste})
        row["by_states"] = sorted({f"{each['verdict']} ({each['oracle']}): {each['title']}" for each in by_states})


def summarize(results, seconds):
    correct_ones = of_correct_variants(results)
    classes = {}
    rows = []
    for result in results:
        row = plain_row(result, correct_ones)
        add_what_was_found(row, result, correct_ones, classes)
        rows.append(row)
    planted = collections.Counter(row["severity"] for row in rows if row["bug"])
    found = collections.Counter(row["severity"] for row in rows if row["bug"] and row["found"])
    correct = [row for row in rows if not row["bug"] and row["kind"] != "example"]
    examples = [row for row in rows if row["kind"] == "example"]
    return {
        "planted": dict(planted),
        "found": dict(found),
        "classes": [{"severity": severity, "class": name, **entry} for (severity, name), entry in sorted(classes.items())],
        "correct": of_right_rows(correct),
        "examples": of_right_rows(examples),
        "modes": states_by_mode(correct),
        "errors": sum(bool(row["error"]) for row in rows),
        "false_bugs": sum(row.get("false_bugs", 0) for row in rows),
        "false_warnings": sum(len(row.get("unknown_warnings", [])) for row in rows),
        "healthy": [f"{name_of(row)} ({', '.join(row['healthy'])})" for row in rows if row["healthy"] and not row["bug"]],
        "mismatches": [f"{name_of(row)}: {row['mismatch']}" for row in rows if row["mismatch"]],
        "missed": [f"{row['target']}:{row['bug']}" for row in rows if row["bug"] and not row["found"]],
        "expected_to_miss": [f"{row['target']}:{row['bug']}" for row in rows if row["bug"] and row["missed"]],
        "infra_errors": sum(row["infra_errors"] for row in rows),
        "seconds": round(seconds, 1),
        "rows": rows,
    }


def share(found, planted):
    return f"{found} of {planted} ({100 * found / planted:.0f} %)" if planted else "none planted"


def right_line(name, rows):
    return (f"- {name}: {rows['variants']}, {rows['states']} crash states, {rows['images']} images tested; "
            f"{rows['with_state_findings']} with bugs by states, {rows['with_rule_bugs']} with bugs by rules, "
            f"{rows['with_performance_findings']} with performance findings only")


def warnings_line(name, rows):
    return f"- {name}: {rows['warnings']}, {rows['warnings'] - rows['unknown_warnings']} of them known beforehand"


def of_times(proofs, key):
    return "; ".join(f"{each[key][0]}/{each[key][1]}" if each[key] else "-" for each in proofs)


def proof_cells(proofs):
    """Findings of crash states that are bugs: how many, where their minimal difference is, how often both neighbours repeat."""
    if not proofs:
        return " |  |  | "
    places = "; ".join((", ".join(each["places"]) or "?") + ("" if each["named"] else " (elsewhere)") if each["minimized"] else "not minimized"
                       for each in proofs)
    return f"{len(proofs)} | {places} | {of_times(proofs, 'fails')} | {of_times(proofs, 'passes')}"


def proof_lines(rows):
    rows = [row for row in rows if row["proofs"]]
    proofs = [each for row in rows for each in row["proofs"]]
    minimized = [each for each in proofs if each["minimized"]]
    if not proofs:
        return []
    tests = [each["tests"] for each in minimized] or [0]

    def all_of(key):
        given = [each[key] for each in proofs if each[key]]
        return f"{sum(good == times for good, times in given)} of {len(given)}"

    return [f"- findings of crash states in rows with a bug: {len(proofs)} in {len(rows)} rows, {sum(len(row['proofs']) == 1 for row in rows)} rows with exactly one",
            f"- minimized: {len(minimized)}, {sum(each['named'] for each in minimized)} at the planted place, "
            f"{sum(tests) / len(tests):.1f} tests each, {max(tests)} at most",
            f"- fails again each time: {all_of('fails')}; the nearest state that passes does each time: {all_of('passes')}"]


def row_line(row):
    first = "" if row["first_detection"] is None else f"{row['first_detection']:.1f}"
    name = row["bug"] or f"(correct, {row['workload']}{', ' + row['mode'] if row['mode'] else ''})"
    return (f"| {row['target']} | {name} | {row['class']} | {', '.join(row['by_rules'])} "
            f"| {', '.join(row['by_states'])} | {len(row['warnings']) or ''} | {row['states']} | {row['tested']} "
            f"| {row['stop'] or ''} | {first} | {row['seconds']} | {proof_cells(row['proofs'])} "
            f"| {row['error'] or row['mismatch']} |")


def markdown(table, results):
    planted, found = table["planted"], table["found"]
    lines = [
        f"- correctness bugs: {share(found.get('correctness', 0), planted.get('correctness', 0))} found",
        f"- performance bugs: {share(found.get('performance', 0), planted.get('performance', 0))} found by rules",
        right_line("correct variants", table["correct"]),
        warnings_line("warnings in correct variants", table["correct"]),
        f"- crash states by correct mode: {', '.join(f'{name} {states}' for name, states in table['modes'].items()) or 'none'}",
        right_line("examples of others", table["examples"]),
        warnings_line("warnings in examples", table["examples"]),
        f"- not as described: {'; '.join(table['mismatches']) or 'none'}",
        f"- without a crash oracles object in: {'; '.join(table['healthy']) or 'none'}",
        f"- rows: {len(table['rows'])} in {table['seconds']} s, {table['errors']} could not be run, "
        f"{table['infra_errors']} images with infra errors; {table['false_bugs']} bugs seen where there are none",
        *proof_lines(table["rows"]),
        "",
        "| severity | class | planted | found | by rules | by states |",
        "|---|---|---|---|---|---|",
    ]
    lines += [f"| {each['severity']} | {each['class']} | {each['planted']} | {each['found']} | {each['by_rules']} "
              f"| {each['by_states']} |" for each in table["classes"]]
    head = ["", "| target | bug | class | rules | states | warnings | crash states | images | until | first detection, s | all, s | findings | minimal at | fails again | neighbour passes | trouble |",
            "|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|"]
    lines += ["", "Missed: " + (", ".join(table["missed"]) or "none") + "; known beforehand: " +
              (", ".join(table["expected_to_miss"]) or "none") + "."]
    lines += head + [row_line(row) for row in table["rows"]]
    return "\n".join(lines) + "\n"


def exit_status(table):
    """0: what was planted was found, but for what is known to be missed, and as its table describes it; no bugs and no unknown
    warnings were seen where there are none, examples included; every row could be run and every image judged."""
    as_expected = table["missed"] == table["expected_to_miss"]
    wrong = ("false_bugs", "false_warnings", "mismatches", "errors", "infra_errors")
    return 0 if as_expected and not any(table[each] for each in wrong) else 1
