# SPDX-License-Identifier: GPL-2.0-or-later
"""Answers of queries: columns as the core gives them, as DataFrames and as tuples."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

if TYPE_CHECKING:
    import pandas


class Answer(NamedTuple):
    names: list[str]
    columns: list[tuple[Any, ...]]


def _texts(codes: np.ndarray[Any, Any], texts: list[str]) -> np.ndarray[Any, Any]:
    values: np.ndarray[Any, Any] = np.array([*texts, None], dtype=object)[codes]  # code -1, of NULL, is the last
    return values


def _series(column: tuple[Any, ...]) -> Any:
    import pandas

    kind, *parts = column
    if kind == "integer":
        values, missing = parts
        return values if missing is None else pandas.arrays.IntegerArray(values, missing)
    if kind == "real":
        values, missing = parts
        if missing is not None:
            values[missing] = np.nan
        return values
    if kind == "text":
        return _texts(*parts)
    if kind == "null":
        return np.full(parts[0], None, dtype=object)
    values = np.empty(len(parts[0]), dtype=object)
    values[:] = parts[0]
    return values


def frame(answer: Answer) -> pandas.DataFrame:
    import pandas

    return pandas.DataFrame({name: _series(column) for name, column in zip(answer.names, answer.columns)})


def _objects(column: tuple[Any, ...]) -> list[Any]:
    kind, *parts = column
    if kind == "text":
        objects: list[Any] = _texts(*parts).tolist()
        return objects
    if kind == "null":
        return [None] * int(parts[0])
    if kind == "mixed":
        return list(parts[0])
    values, missing = parts
    objects = values.tolist()
    if missing is not None:
        for row in np.flatnonzero(missing).tolist():
            objects[row] = None
    return objects


def tuples(columns: list[tuple[Any, ...]]) -> Iterator[tuple[Any, ...]]:
    return zip(*(_objects(column) for column in columns))
