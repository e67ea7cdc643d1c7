# SPDX-License-Identifier: GPL-2.0-or-later
"""Whether a function is the one that judged before: a digest of its text and of what it is bound to."""

from __future__ import annotations

import dis
import functools
import hashlib
import inspect
import re
import types
from collections.abc import Callable, Iterator, Mapping
from itertools import pairwise
from typing import Any

#: Of containers: what a function collects in one of these is a note of its own, which changes from call to call.
_WRITES = {"add", "append", "appendleft", "clear", "discard", "extend", "insert", "pop", "popleft", "remove",
           "setdefault", "update", "write"}


def version(function: Callable[..., Any]) -> str:
    """Another one when its text is another, or what it is bound to. The functions and globals it uses are not looked at."""
    digest = hashlib.sha256()
    for part in _callable(function, set()):
        digest.update(part.encode(errors="backslashreplace") + b"\0")
    return digest.hexdigest()[:32]


def _callable(function: Any, seen: set[int]) -> Iterator[str]:
    if isinstance(function, functools.partial):
        yield "partial"
        yield from _value(function.args, seen)
        yield from _value(function.keywords, seen)
        yield from _value(function.func, seen)
        return
    if isinstance(function, types.MethodType):
        yield from _callable(function.__func__, seen)
        yield from _state(function.__self__, function.__func__, seen)
        return
    code = getattr(function, "__code__", None)
    yield from _text(function if code else type(function), code)
    if code:
        yield from _bound(function, code, seen)
    else:
        yield from _state(function, type(function).__call__, seen)


def _text(thing: Any, code: types.CodeType | None) -> Iterator[str]:
    try:
        yield inspect.getsource(thing)
        alone = code is None or code.co_name != "<lambda>"  # a line may have several
    except (OSError, TypeError):  # typed at a prompt
        alone = False
        yield repr(thing) if code is None and isinstance(thing, type) else ""
    if code and not alone:
        yield from _code(code)


def _code(code: types.CodeType) -> Iterator[str]:
    yield code.co_code.hex()
    yield repr((code.co_names, code.co_freevars))
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _code(constant)
        else:
            yield from _value(constant, set())


def _bound(function: Any, code: types.CodeType, seen: set[int]) -> Iterator[str]:
    yield from _value(function.__defaults__, seen)
    yield from _value(function.__kwdefaults__, seen)
    notes = _written(code)
    for name, cell in zip(code.co_freevars, function.__closure__ or ()):
        if name in notes:
            continue
        yield name
        try:
            yield from _value(cell.cell_contents, seen)
        except ValueError:  # nothing is in it yet
            yield "empty"


def _state(thing: object, method: Any, seen: set[int]) -> Iterator[str]:
    """What an object knows, but for what the method notes in it."""
    yield f"{type(thing).__module__}.{type(thing).__qualname__}"
    if isinstance(thing, (type, types.ModuleType)) or id(thing) in seen:
        return
    seen.add(id(thing))
    code = getattr(method, "__code__", None)
    notes = _written(code) if code else set()
    known = getattr(thing, "__dict__", {})
    if isinstance(known, Mapping):
        yield from _value({name: value for name, value in known.items() if name not in notes}, seen)


def _written(code: types.CodeType) -> set[str]:
    """Variables of outer functions, and attributes, that code sets or collects something in."""
    found = set()
    for one, following in pairwise(dis.get_instructions(code)):
        collects = following.opname in ("LOAD_METHOD", "LOAD_ATTR") and following.argval in _WRITES
        if one.opname in ("STORE_DEREF", "STORE_ATTR") or collects and one.opname in ("LOAD_DEREF", "LOAD_ATTR"):
            found.add(str(one.argval))
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            found |= _written(constant)
    return found


def _shows_itself(of: Any) -> bool:
    return of.__repr__ is not object.__repr__


def _value(value: Any, seen: set[int]) -> Iterator[str]:
    if isinstance(value, (functools.partial, types.FunctionType, types.MethodType)):
        if id(value) not in seen:
            seen.add(id(value))
            yield from _callable(value, seen)
    elif type(value) in (tuple, list):
        yield f"{type(value).__name__} of {len(value)}"
        for each in value:
            yield from _value(each, seen)
    elif type(value) in (set, frozenset):
        yield from sorted("".join(_value(each, seen)) for each in value)
    elif type(value) is dict:
        for key, each in value.items():
            yield from _value(key, seen)
            yield from _value(each, seen)
    elif not _shows_itself(type(value)):
        yield from _state(value, None, seen)
    else:
        try:
            yield re.sub(r" at 0x[0-9a-f]+", "", repr(value))  # it is another one each time
        except Exception:  # of the user's
            yield f"{type(value).__module__}.{type(value).__qualname__}"
