# SPDX-License-Identifier: GPL-2.0-or-later
"""Whether an oracle is the one that judged before."""

import functools
import os
import subprocess
import sys

import pytest

from fencepost._versions import version


class Check:
    """An oracle with something to know."""

    def __init__(self, word):
        self.word = word
        self.calls = 0

    def __call__(self, guest):
        self.calls += 1

    def method(self, guest):
        self.calls += 1


def partial_of(word):
    return functools.partial(lambda guest, word: None, word=word)


def closure_of(word):
    seen = []

    def judge(guest):
        seen.append(word)
    return judge


def default_of(word):
    return lambda guest, word=word: None


def keyword_of(word):
    def judge(guest, *, word=word):
        pass
    return judge


def typed(word):
    names = {}
    exec(f"def judge(guest):\n    return [x for x in [guest.{word}, {{'a', 'b', 'c'}}] if (lambda: x)]", names)
    return names["judge"]


@pytest.mark.parametrize("make", [partial_of, closure_of, default_of, keyword_of, typed, Check,
                                  lambda word: Check(word).method, lambda word: closure_of(Check(word)),
                                  lambda word: closure_of(closure_of(word)), lambda word: partial_of({word: [word]})])
def test_versions(make):
    """What an oracle is bound to makes it another one; being made anew, or having been called, does not."""
    one, same, other = make("A"), make("A"), make("B")
    before = version(one)
    assert version(same) == before and version(other) != before
    try:
        one(None)
    except AttributeError:  # of the one that was typed
        pass
    assert version(one) == before


def test_versions_in_other_processes():
    """Neither addresses nor the order of sets are in them."""
    ask = ("from fencepost._versions import version\nn = {}\n"
           "exec('def judge(guest):\\n return [x for x in \"ab\" if x in {\"a\", \"b\", \"c\"} and (lambda: x)]', n)\n"
           "print(version(n['judge']), [0] * 1000 and '')")
    said = {subprocess.run([sys.executable, "-c", ask], env={**os.environ, "PYTHONHASHSEED": str(seed)}, check=True,
                           capture_output=True, text=True).stdout for seed in range(4)}
    assert len(said) == 1
