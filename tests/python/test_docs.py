# SPDX-License-Identifier: GPL-2.0-or-later
"""What the pages in docs/ show of Python is what Python says."""

import doctest
import pathlib
import re

import pytest

DOCS = pathlib.Path(__file__).resolve().parent.parent.parent / "docs"
PAGES = [page for page in sorted(DOCS.rglob("*.md")) if "```pycon\n" in page.read_text()]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_page(page, journal, monkeypatch):
    monkeypatch.chdir(journal.parent)
    text = "\n".join(re.findall(r"(?<=^```pycon\n).*?(?=^```$)", page.read_text(), re.MULTILINE | re.DOTALL))
    test = doctest.DocTestParser().get_doctest(text, {}, page.name, str(page), 0)
    assert test.examples
    said = []
    doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE).run(test, out=said.append)
    assert not said, "".join(said)


def test_there_are_pages():
    assert PAGES
