# SPDX-License-Identifier: GPL-2.0-or-later
"""Compares every #include with the table of allowed arrows, and finds cycles between folders.

arrows.py TABLE              fails with every include that the table does not allow
arrows.py TABLE PAGE         writes the table into PAGE, between its two comments
arrows.py --check TABLE PAGE fails when PAGE holds something else there
"""
import re
import sys
import tomllib
from pathlib import Path, PurePosixPath

from sources import ROOT, sources

INCLUDE = re.compile(r'^\s*#\s*include\s+(?:"([^"]+)"|<([^>]+)>)')
BEGIN = "<!-- Made from tests/lint/arrows.toml: change that file, then run\n     `meson compile -C BUILD architecture-arrows`. -->\n"
END = "<!-- The end of what is made from it. -->\n"


class Table:
    def __init__(self, path):
        document = tomllib.loads(Path(path).read_text())
        self.libraries = document["libraries"]
        self.rows = document["folder"]
        self.by_path = {row["path"]: row for row in self.rows}
        self.pending = {(row["from"], row["to"]): row["why"] for row in document.get("pending", [])}

    def folder_of(self, file):
        """The row that a file of ours belongs to: the longest path above it."""
        for parent in PurePosixPath(file).parents:
            if str(parent) in self.by_path:
                return str(parent)
        return None

    def library_of(self, header):
        for name, prefixes in self.libraries.items():
            if any(header == prefix or prefix.endswith("/") and header.startswith(prefix) for prefix in prefixes):
                return name
        return None


def includes(file):
    for number, line in enumerate((ROOT / file).read_text().splitlines(), 1):
        if match := INCLUDE.match(line):
            yield number, match[1], match[2]


def check(table):
    """Yields what is wrong, and collects the arrows that there are."""
    arrows = {}
    used_pending = set()
    for file in sources(".h", ".cpp", ".c", ".h.in"):
        here = table.folder_of(file)
        if here is None:
            yield f"{file}: no row of the table has this folder"
            continue
        row = table.by_path[here]
        for number, ours, other in includes(file):
            place = f"{file}:{number}"
            if other:
                library = table.library_of(other)
                if library and library not in row["libraries"] and "*" not in row["libraries"]:
                    yield f"{place}: {here} may not use {library} (<{other}>)"
                continue
            if ours.startswith("."):
                yield f"{place}: \"{ours}\" is named by a relative path"
                continue
            if "/" not in ours:  # beside it
                continue
            there = table.folder_of(ours)
            if there is None and "*" not in row["uses"]:
                yield f"{place}: \"{ours}\" is in no folder of the table"
            if there in (here, None):
                continue
            arrows.setdefault(here, {}).setdefault(there, place)
            if {there, ours, "*"} & set(row["uses"]):
                continue
            if (here, there) in table.pending:
                used_pending.add((here, there))
                continue
            yield f"{place}: {here} may not use {there} (\"{ours}\")"
    for here, there in table.pending.keys() - used_pending:
        yield f"arrows.toml: the pending arrow {here} -> {there} is gone; remove it from the table"
    yield from cycles(arrows)


def cycles(arrows):
    """Yields each cycle once, at the folder where the search came upon it."""
    done, path = set(), []

    def visit(folder):
        if folder in path:
            loop = path[path.index(folder):] + [folder]
            yield "cycle: " + " -> ".join(loop) + "".join(
                f"\n  {arrows[a][b]}: {a} uses {b}" for a, b in zip(loop, loop[1:]))
            return
        if folder in done:
            return
        path.append(folder)
        for other in sorted(arrows.get(folder, {})):
            yield from visit(other)
        path.pop()
        done.add(folder)

    for folder in sorted(arrows):
        yield from visit(folder)


def rendered(table):
    lines = ["| folder | what lives there | may use |", "|---|---|---|"]
    for row in table.rows:
        uses = ", ".join("everything" if name == "*" else f"`{name}`" for name in row["uses"]) or "nothing of ours"
        libraries = "".join(f"; {name}" if at == 0 else f", {name}" for at, name in enumerate(row["libraries"]) if name != "*")
        lines.append(f"| `{row['path']}` | {row['holds']} | {uses}{libraries} |")
    text = BEGIN + "\n" + "\n".join(lines) + "\n"
    if table.pending:
        text += "\nThere today, and to go:\n\n" + "\n".join(
            f"- `{here}` uses `{there}`: {why}" for (here, there), why in table.pending.items()) + "\n"
    return text + "\n" + END


def with_table(page, table):
    begin, end = page.find(BEGIN), page.find(END)
    if begin < 0 or end < begin:
        sys.exit("the page lacks the two comments that the table stands between")
    return page[:begin] + rendered(table) + page[end + len(END):]


def main(arguments):
    check_page = arguments[:1] == ["--check"]
    table_path, *rest = arguments[1:] if check_page else arguments
    table = Table(table_path)
    if not rest:
        wrong = list(check(table))
        print("\n".join(wrong) if wrong else "every include is in the table; no cycle between folders")
        sys.exit(1 if wrong else 0)
    page = Path(rest[0])
    text = with_table(page.read_text(), table)
    if not check_page:
        page.write_text(text)
    elif page.read_text() != text:
        sys.exit(f"{page} is stale: run `meson compile -C BUILD architecture-arrows`")


if __name__ == "__main__":
    main(sys.argv[1:])
