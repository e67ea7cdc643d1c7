# SPDX-License-Identifier: GPL-2.0-or-later
"""Parquet files, written from the format's specification: Debian 12 has no library for them.

Flat columns, one row group a block of events, plain encoding, texts by dictionary, pages compressed with gzip.
"""

from __future__ import annotations

import os
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np

from fencepost import _core
from fencepost._files import whole
from fencepost.errors import UsageError
from fencepost.trace import KINDS, SUBKINDS, Block, Trace, trace_of

if TYPE_CHECKING:
    from fencepost.run import Run

__all__ = ["to_parquet"]

_Array = np.ndarray[Any, Any]

ROWS = 1 << 17  # of a row group
BOOLEAN, INT32, INT64, DOUBLE, BYTE_ARRAY = 0, 1, 2, 5, 6
NUMBERS = {INT32: "<i4", INT64: "<i8", DOUBLE: "<f8"}
UTF8, GZIP, OPTIONAL = 0, 2, 1
PLAIN, RLE, RLE_DICTIONARY = 0, 3, 8
DATA_PAGE, DICTIONARY_PAGE = 0, 2


@dataclass
class Column:
    """Some rows of one. Byte arrays that are not missing are one after the other in `values`, each of a size."""

    name: str
    type: int
    values: _Array
    missing: _Array | None = None
    sizes: _Array | None = None
    texts: list[str] | None = None  #: `values` are indexes of these

    def rows(self, first: int, last: int) -> Column:
        """Some of them."""
        missing = None if self.missing is None else self.missing[first:last]
        if self.sizes is None or self.missing is None:
            return Column(self.name, self.type, self.values[first:last], missing, None, self.texts)
        start = len(self.sizes) - np.count_nonzero(~self.missing[first:])
        sizes = self.sizes[start:start + np.count_nonzero(~self.missing[first:last])]
        at = int(self.sizes[:start].sum())
        return Column(self.name, self.type, self.values[at:at + int(sizes.sum())], missing, sizes)


# --- Thrift's compact protocol, as far as Parquet's headers need it


def _varint(number: int) -> bytes:
    out = bytearray()
    while number > 127:
        out.append(number & 127 | 128)
        number >>= 7
    out.append(number)
    return bytes(out)


def _coded(value: Any) -> tuple[int, bytes]:
    """Its type and its bytes: int (as i32), Long, bytes, list, or a dict of fields by number."""
    if isinstance(value, Long):
        return 6, _varint(value.number << 1)
    if isinstance(value, int):
        return 5, _varint(value << 1)
    if isinstance(value, bytes):
        return 8, _varint(len(value)) + value
    if isinstance(value, list):
        coded = [_coded(each) for each in value]
        kind = coded[0][0] if coded else 12
        head = bytes([len(coded) << 4 | kind]) if len(coded) < 15 else bytes([0xF0 | kind]) + _varint(len(coded))
        return 9, head + b"".join(text for _, text in coded)
    out, last = b"", 0
    for number, field in sorted(value.items()):
        kind, text = _coded(field)
        out += bytes([(number - last) << 4 | kind]) + text  # numbers are less than 16 apart
        last = number
    return 12, out + b"\0"


@dataclass
class Long:
    number: int


# --- pages


def _bits(values: _Array) -> bytes:
    """One bit-packed run of values of one bit."""
    return _varint((len(values) + 7) // 8 << 1 | 1) + np.packbits(values, bitorder="little").tobytes()


def _byte_arrays(sizes: _Array, data: _Array) -> bytes:
    """Each with its size before it."""
    sizes = sizes.astype(np.int64)
    out = np.empty(int(sizes.sum()) + 4 * len(sizes), np.uint8)
    is_size = np.zeros(len(out), bool)
    starts = np.cumsum(sizes + 4) - sizes - 4
    for byte in range(4):
        is_size[starts + byte] = True
    out[is_size] = sizes.astype("<u4").view(np.uint8)
    out[~is_size] = data
    return out.tobytes()


def _texts(texts: list[str]) -> bytes:
    coded = [text.encode() for text in texts]
    return b"".join(len(text).to_bytes(4, "little") + text for text in coded)


def _values(column: Column, present: _Array) -> bytes:
    if column.texts is not None:
        width = 1 if len(column.texts) <= 2**8 else 2 if len(column.texts) <= 2**16 else 4
        padded = np.zeros((len(present) + 7) // 8 * 8, f"<u{width}")
        padded[:len(present)] = present
        return bytes([8 * width]) + _varint(len(padded) // 8 << 1 | 1) + padded.tobytes()
    if column.sizes is not None:
        return _byte_arrays(column.sizes, present)
    if column.type == BOOLEAN:
        return np.packbits(present, bitorder="little").tobytes()
    return present.astype(NUMBERS[column.type]).tobytes()


class _File:
    def __init__(self, file: BinaryIO) -> None:
        self.file = file
        self.at = 0
        self.groups: list[dict[int, Any]] = []
        self.rows = 0
        self.schema: list[dict[int, Any]] = []
        self._write(b"PAR1")

    def _write(self, data: bytes) -> None:
        self.at += self.file.write(data)

    def _page(self, kind: int, content: bytes, header: dict[int, Any]) -> int:
        """Gives its size uncompressed."""
        packer = zlib.compressobj(1, zlib.DEFLATED, 31)
        packed = packer.compress(content) + packer.flush()
        _, head = _coded({1: kind, 2: len(content), 3: len(packed), (5 if kind == DATA_PAGE else 7): header})
        self._write(head + packed)
        return len(head) + len(content)

    def _chunk(self, column: Column, rows: int) -> dict[int, Any]:
        start, size, offsets = self.at, 0, {}
        if column.texts is not None:
            offsets[11] = Long(self.at)
            size += self._page(DICTIONARY_PAGE, _texts(column.texts), {1: len(column.texts), 2: PLAIN})
        there = np.ones(rows, bool) if column.missing is None else ~column.missing
        present = column.values if column.missing is None or column.sizes is not None else column.values[there]
        levels = _bits(there)
        encoding = PLAIN if column.texts is None else RLE_DICTIONARY
        offsets[9] = Long(self.at)
        size += self._page(DATA_PAGE, len(levels).to_bytes(4, "little") + levels + _values(column, present),
                           {1: rows, 2: encoding, 3: RLE, 4: RLE})
        return {2: Long(start), 3: {1: column.type, 2: [PLAIN, RLE, RLE_DICTIONARY], 3: [column.name.encode()], 4: GZIP,
                                    5: Long(rows), 6: Long(size), 7: Long(self.at - start), **offsets}}

    def declare(self, columns: list[Column]) -> None:
        self.schema = [{4: b"events", 5: len(columns)}]
        for column in columns:
            its: dict[int, Any] = {1: column.type, 3: OPTIONAL, 4: column.name.encode()}
            self.schema.append({**its, 6: UTF8} if column.texts is not None else its)

    def add(self, columns: list[Column], rows: int) -> None:
        start = self.at
        chunks = [self._chunk(column, rows) for column in columns]
        self.groups.append({1: chunks, 2: Long(self.at - start), 3: Long(rows)})
        self.rows += rows

    def end(self) -> None:
        footer: dict[int, Any] = {1: 1, 2: self.schema, 3: Long(self.rows), 4: self.groups,
                                  6: f"fencepost {_core.version}".encode()}
        _, text = _coded(footer)
        self._write(text + len(text).to_bytes(4, "little") + b"PAR1")


# --- columns of events and of answers

SUBKIND_NAMES = [(kind, subkind) for kind in KINDS for subkind in SUBKINDS[kind]]


def _event_columns(block: Block) -> list[Column]:
    events = block.matching
    kind, subkind, size = events["kind"], events["subkind"], events["size"]
    first_subkind = np.array([SUBKIND_NAMES.index((name, SUBKINDS[name][0])) for name in KINDS])
    is_store = kind < 2
    has_address = is_store | (kind == KINDS.index("load")) | (
        (kind == KINDS.index("flush")) & (subkind < SUBKINDS["flush"].index("wbinvd")))
    value = events["value"][is_store]
    sizes = size[is_store].astype(np.int64)
    source = np.concatenate([np.ascontiguousarray(value).view(np.uint8), block.wide_values])
    starts = np.where(sizes <= 8, 8 * np.arange(len(value)), 8 * len(value) + value.astype(np.int64))
    of_values = np.repeat(starts - (np.cumsum(sizes) - sizes), sizes) + np.arange(int(sizes.sum()))
    return [
        Column("seq", INT64, block.seq),
        Column("kind", BYTE_ARRAY, kind, texts=list(KINDS)),
        Column("subkind", BYTE_ARRAY, first_subkind[kind] + subkind, texts=[name for _, name in SUBKIND_NAMES]),
        Column("vcpu", INT32, events["vcpu"]),
        Column("address", INT64, events["address"], ~has_address),
        Column("size", INT32, size, size == 0),
        Column("value", BYTE_ARRAY, source[of_values], ~is_store, sizes),
        Column("site", INT64, events["site"], events["site"] == 0),
        Column("stack", INT64, events["stack"], events["stack"] == 0),
        Column("atomic", BOOLEAN, (events["flags"] & 1).astype(bool)),
    ]


def _answer_column(name: str, column: tuple[Any, ...]) -> Column:
    kind, *parts = column
    if kind in ("integer", "real"):
        values, missing = parts
        return Column(name, INT64 if kind == "integer" else DOUBLE, values, missing)
    if kind == "text":
        codes, texts = parts
        return Column(name, BYTE_ARRAY, np.maximum(codes, 0), codes < 0, texts=texts)
    if kind == "null":
        return Column(name, BYTE_ARRAY, np.zeros(parts[0], np.int32), np.ones(parts[0], bool), texts=[])
    blobs = parts[0]
    missing = np.array([blob is None for blob in blobs], bool)
    if not all(blob is None or isinstance(blob, bytes) for blob in blobs):
        raise UsageError(f"column {name}: its values have several types, which a column of Parquet cannot have: "
                         "CAST them to one")
    there = [blob for blob in blobs if blob is not None]
    return Column(name, BYTE_ARRAY, np.frombuffer(b"".join(there), np.uint8), missing,
                  np.array([len(blob) for blob in there], np.int64))


def _event_groups(trace: Trace) -> Iterator[tuple[list[Column], int]]:
    nothing = Block(0, np.empty(0, _core.event_type()), None, np.empty(0, np.uint8))
    yield _event_columns(nothing), 0  # names and types, also when there are no events
    for block in trace.blocks():
        yield _event_columns(block), len(block)


def _answer_groups(trace: Trace, query: str) -> Iterator[tuple[list[Column], int]]:
    names, columns = _core.answer(trace._core, query)
    whole = [_answer_column(name, column) for name, column in zip(names, columns)]
    first_column = whole[0]
    rows = len(first_column.values if first_column.missing is None else first_column.missing)
    for first in range(0, max(rows, 1), ROWS):
        last = min(first + ROWS, rows)
        yield [column.rows(first, last) for column in whole], last - first


def to_parquet(trace: Trace | Run, path: str | os.PathLike[str], query: str | None = None) -> None:
    """Writes events, or the answer of a query, as a Parquet file: for pandas, polars, DuckDB, Spark, R, Julia.

    Without a query it has all events with the columns of `Event`, and what an event does not have is missing; a block
    is in memory at a time. With one it has the query's columns, and a column with values of several types is an error.
    """
    trace = trace_of(trace)
    groups = _event_groups(trace) if query is None else _answer_groups(trace, query)
    with whole(path) as binary:
        file = _File(binary)
        for columns, rows in groups:
            if not file.schema:
                file.declare(columns)
            if rows:
                file.add(columns, rows)
        file.end()
