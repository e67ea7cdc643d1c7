# SPDX-License-Identifier: GPL-2.0-or-later
"""Specs: what to record, as a dict or as TOML (docs/reference/spec.md)."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

__all__ = ["to_toml"]

_PLAIN_KEY = re.compile(r"[A-Za-z0-9_-]+")


def _key(key: object) -> str:
    if not isinstance(key, str):
        raise TypeError(f"a key of a spec is a str, not {key!r}")
    return key if _PLAIN_KEY.fullmatch(key) else _value(key)


def _value(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (int, float)):
        return repr(value)
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(map(_value, value)) + "]"
    raise TypeError(f"a spec cannot hold {value!r}")


def _is_tables(value: object) -> bool:
    return isinstance(value, (list, tuple)) and bool(value) and all(isinstance(each, Mapping) for each in value)


def _lines(table: Mapping[str, Any], path: tuple[str, ...]) -> Iterator[str]:
    for key, value in table.items():
        if not isinstance(value, Mapping) and not _is_tables(value):
            yield f"{_key(key)} = {_value(value)}"
    for key, value in table.items():
        name = ".".join((*path, _key(key)))
        if isinstance(value, Mapping):
            yield f"[{name}]"
            yield from _lines(value, (*path, _key(key)))
        elif _is_tables(value):
            for each in value:
                yield f"[[{name}]]"
                yield from _lines(each, (*path, _key(key)))


def to_toml(spec: Mapping[str, Any]) -> str:
    """The TOML of a spec that is a dict: tables are dicts, `[[copy]]` is a list of dicts.

    >>> print(to_toml({"pm": {"size": "64M"}, "workload": {"kind": "script", "text": "touch a"}}))
    """
    return "\n".join(_lines(spec, ())) + "\n"
