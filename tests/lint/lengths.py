# SPDX-License-Identifier: GPL-2.0-or-later
"""Finds files over 400 lines and functions over 60.

A reason makes one right: a comment that begins with `Long because`, directly above the function or in the first lines
of the file. Functions of C++ are found by their braces, as clang-format sets them: each alone in its line, both
at the same depth.
"""
import ast
import re
import sys

from sources import ROOT, python_sources, sources

MOST_LINES = 400
MOST_FUNCTION_LINES = 60
HEAD = 6
REASON = re.compile(r"^\s*(//|#|\*) *Long because \w+")
# The line before a signature's first.
BEFORE_SIGNATURE = re.compile(r"^\s*$|^\s*//|[;{}]\s*$|^#|^\s*(public|private|protected):|^\s*\*/")
NAME = re.compile(r"TEST(?:_F|_P)?\([^)]*\)|(?:[~\w:]+|operator\S+)(?=\()")


def has_reason_above(lines, first):
    """Whether the comment that ends above line `first` (from 0) has a reason in it."""
    line = first - 1
    while line >= 0 and re.match(r"^\s*(//|#|@)", lines[line]):
        if REASON.match(lines[line]):
            return True
        line -= 1
    return False


def brace_functions(text):
    """Yields (first line, last line, name), lines from 0, of the outermost functions."""
    lines = text.splitlines()
    number = 0
    while number < len(lines):
        if lines[number].strip() != "{":
            number += 1
            continue
        indent = lines[number][:lines[number].index("{")]
        first = number
        while first > 0 and not BEFORE_SIGNATURE.search(lines[first - 1]):
            first -= 1
        last = number + 1
        while last < len(lines) and not re.match(re.escape(indent) + r"\}", lines[last]):
            last += 1
        name = NAME.search(" ".join(lines[first:number]))
        yield first, last, name[0] if name else lines[first].strip()
        number = last + 1


def python_functions(text):
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            yield node.lineno - 1, node.end_lineno - 1, node.name


def too_long(file, functions_of):
    """Yields what is wrong, a sentence each."""
    text = (ROOT / file).read_text()
    lines = text.splitlines()
    if len(lines) > MOST_LINES and not any(REASON.match(line) for line in lines[:HEAD]):
        yield f"{file} has {len(lines)} lines, more than {MOST_LINES}"
    for first, last, name in functions_of(text):
        count = last - first + 1
        if count > MOST_FUNCTION_LINES and not has_reason_above(lines, first):
            yield f"{file}:{first + 1}: {name} has {count} lines, more than {MOST_FUNCTION_LINES}"


def main():
    wrong = []
    for file in sources(".h", ".cpp", ".c"):
        wrong += too_long(file, brace_functions)
    for file in python_sources():
        wrong += too_long(file, python_functions)
    print("\n".join(wrong) if wrong else "no file and no function is too long without a reason")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
