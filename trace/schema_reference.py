# SPDX-License-Identifier: GPL-2.0-or-later
"""Writes the reference page of a database's tables from the comments in its schema.

schema_reference.py SCHEMA PAGE          writes PAGE
schema_reference.py --check SCHEMA PAGE  fails when PAGE is not what would be written
"""

import re
import sys
from pathlib import Path

TRACE = """\
# The tables of a trace

<!-- Made from trace/schema.sql by trace/schema_reference.py: change that file, then run
     `meson compile -C BUILD trace-schema-reference`. -->

A trace is a SQLite file with `application_id` {application_id} and `user_version` {version}, the
version of the format. The views are the stable interface for SQL of your own; the tables may change
with the version. Reading `event` and the views over it needs the extension:

```
sqlite3 RUN/trace.db ".load fencepost_trace" "SELECT function, stores FROM function_count"
```

Integers are signed in SQLite: print addresses with `printf('%x', pc)`.
"""

RESULTS = """\
# What testing a run leaves

<!-- Made from replayer/test/results.sql by trace/schema_reference.py: change that file, then run
     `meson compile -C BUILD results-reference`. -->

`RUN/results.db` is a SQLite file with `application_id` {application_id} and `user_version` {version}, the
version of the format. `fencepost test` writes it, one transaction a second; it can be read at any time:

```
sqlite3 RUN/results.db "SELECT verdict, count(*) FROM image GROUP BY verdict"
```

Each finding also has a directory `RUN/findings/ID`: `summary.json` (all of it, with call stacks and evidence: [findings.schema.json](findings.schema.json)), `tree.json` (what was recovered, where an oracle looked at it), `console.log` (what the guest's kernel said), `image.delta` ([the image](image-delta.md)), `reproduce.sh` ([how it fails again](../how-to/reproduce.md)), what [minimize](../how-to/minimize.md) has found, and `annotations.json` ([what bytes belong to](../../annotators/README.md)), all of its
first image. `fencepost states RUN --show STATE` tells what is in PM and what is not.
"""

INTRODUCTIONS = {"schema.sql": TRACE, "results.sql": RESULTS}

COLUMN = re.compile(r"^\s+(?P<name>\w+) (?P<type>TEXT|INTEGER|BLOB|REAL)\b(?P<rest>[^-]*)(-- (?P<meaning>.*))?$")
STATEMENT = re.compile(r"^CREATE (?P<what>TABLE|VIEW|INDEX|VIRTUAL TABLE) (?P<name>\w+)")


def pragma(schema, name):
    return re.search(rf"PRAGMA {name} = (\w+);", schema).group(1)


def statements(schema):
    """Yields (comment, lines) for every CREATE statement."""
    comment, lines = [], []
    for line in schema.splitlines():
        if lines or line.startswith("CREATE "):
            lines.append(line)
            if line.split("--")[0].rstrip().endswith(";"):
                yield " ".join(comment), lines
                comment, lines = [], []
        elif line.startswith("-- "):
            comment.append(line[3:])
        else:
            comment = []


def table_section(name, comment, lines):
    yield f"### `{name}`\n\n{comment}\n"
    rows = []
    for line in lines[1:]:
        column = COLUMN.match(line)
        if not column:
            continue
        if not column["meaning"]:
            sys.exit(f"column {name}.{column['name']} has no comment")
        rows.append(f"| `{column['name']}` | {column['type']} | {column['meaning']} |")
    if rows:
        yield "| column | type | meaning |\n|---|---|---|\n" + "\n".join(rows) + "\n"


def view_section(name, comment, lines):
    yield f"### `{name}`\n\n{comment}\n"
    yield "```sql\n" + "\n".join(lines) + "\n```\n"


def page(file, schema):
    yield INTRODUCTIONS[file].format(application_id=pragma(schema, "application_id"),
                                     version=pragma(schema, "user_version"))
    tables, views = [], []
    for comment, lines in statements(schema):
        what, name = STATEMENT.match(lines[0]).group("what", "name")
        if not comment:
            sys.exit(f"{name} has no comment")
        if what == "VIEW":
            views.extend(view_section(name, comment, lines))
        elif what != "INDEX":
            tables.extend(table_section(name, comment, lines))
    yield "## Views\n"
    yield from views
    yield "## Tables\n"
    yield from tables


def main(arguments):
    check = arguments[:1] == ["--check"]
    schema, target = map(Path, arguments[1:] if check else arguments)
    text = "\n".join(page(schema.name, schema.read_text()))
    if not check:
        target.write_text(text)
    elif not target.exists() or target.read_text() != text:
        sys.exit(f"{target} is stale: make it again, its first lines say how")


if __name__ == "__main__":
    main(sys.argv[1:])
