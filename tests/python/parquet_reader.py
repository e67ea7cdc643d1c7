# SPDX-License-Identifier: GPL-2.0-or-later
"""A reader of flat Parquet files, written from the format's specification, that knows nothing of fencepost.

Whatever it does not know it refuses. tests/long/arrow_and_parquet has DuckDB read the same files.
"""

import struct
import zlib

PLAIN, RLE, RLE_DICTIONARY = 0, 3, 8
TYPES = {0: "boolean", 1: "int32", 2: "int64", 5: "double", 6: "byte_array"}


class Bytes:
    def __init__(self, data, at=0):
        self.data, self.at = data, at

    def take(self, count):
        assert self.at + count <= len(self.data), "beyond the end"
        self.at += count
        return self.data[self.at - count:self.at]

    def varint(self):
        number = shift = 0
        while True:
            byte, = self.take(1)
            number |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return number

    def thrift(self, kind):
        """A value of Thrift's compact protocol; a struct as a dict by field number."""
        if kind in (1, 2):
            return kind == 1
        if kind in (5, 6):
            number = self.varint()
            return number >> 1 ^ -(number & 1)
        if kind == 8:
            return self.take(self.varint())
        if kind == 9:
            head, = self.take(1)
            count = self.varint() if head >> 4 == 15 else head >> 4
            return [self.thrift(head & 15) for _ in range(count)]
        assert kind == 12, f"type {kind} of Thrift"
        fields, number = {}, 0
        while (head := self.take(1)[0]) != 0:
            number = number + (head >> 4) if head >> 4 else self.thrift(5)
            fields[number] = self.thrift(head & 15)
        return fields

    def hybrid(self, width, count):
        """Runs of packed or repeated numbers."""
        numbers = []
        while len(numbers) < count:
            head = self.varint()
            if head & 1:
                numbers += unpack(self.take((head >> 1) * width), width)
            else:
                numbers += [int.from_bytes(self.take((width + 7) // 8), "little")] * (head >> 1)
        return numbers[:count]


def unpack(data, width):
    """Packed numbers of one bit, or of whole bytes."""
    if width == 1:
        return [byte >> bit & 1 for byte in data for bit in range(8)]
    assert width in (8, 16, 32)
    return list(struct.unpack(f"<{len(data) * 8 // width}{ {8: 'B', 16: 'H', 32: 'I'}[width] }", data))


def plain(source, kind, count):
    if kind == "boolean":
        return [bool(bit) for bit in unpack(source.take((count + 7) // 8), 1)][:count]
    if kind == "byte_array":
        return [source.take(int.from_bytes(source.take(4), "little")) for _ in range(count)]
    letter, size = {"int32": ("i", 4), "int64": ("q", 8), "double": ("d", 8)}[kind]
    return list(struct.unpack(f"<{count}{letter}", source.take(size * count)))


def page(file):
    header = file.thrift(12)
    packed = file.take(header[3])
    content = zlib.decompress(packed, 31)
    assert len(content) == header[2], "uncompressed_page_size"
    return header, Bytes(content)


def column(data, chunk, rows):
    meta = chunk[3]
    kind = TYPES[meta[1]]
    assert meta[4] == 2, "codec gzip"
    file, texts = Bytes(data, meta.get(11, meta[9])), None
    if 11 in meta:
        header, content = page(file)
        assert header[1] == 2 and header[7][2] == PLAIN
        texts = plain(content, kind, header[7][1])
        assert file.at == meta[9], "data_page_offset"
    header, content = page(file)
    assert header[1] == 0 and header[5][1] == rows == meta[5]
    levels = Bytes(content.take(int.from_bytes(content.take(4), "little"))).hybrid(1, rows)
    present = sum(levels)
    if header[5][2] == RLE_DICTIONARY:
        width, = content.take(1)
        values = [texts[number] for number in content.hybrid(width, present)]
    else:
        assert header[5][2] == PLAIN
        values = plain(content, kind, present)
        assert content.at == len(content.data), "bytes that are left"
    assert file.at - meta.get(11, meta[9]) == meta[7], "total_compressed_size"
    values = iter(values)
    return [next(values) if level else None for level in levels]


def read(path):
    """([(name, type, is it text)], rows, rows of each group)."""
    data = path.read_bytes()
    assert data[:4] == data[-4:] == b"PAR1"
    size = int.from_bytes(data[-8:-4], "little")
    footer = Bytes(data[-8 - size:-8]).thrift(12)
    root, *fields = footer[2]
    assert root[5] == len(fields) and all(field[3] == 1 for field in fields)
    rows, groups = [], []
    for group in footer[4]:
        columns = [column(data, chunk, group[3]) for chunk in group[1]]
        assert [chunk[3][3] for chunk in group[1]] == [[field[4]] for field in fields], "path_in_schema"
        columns = [[None if value is None else value.decode() for value in values] if field.get(6) == 0 else values
                   for field, values in zip(fields, columns)]
        rows += zip(*columns)
        groups.append(group[3])
    assert footer[3] == len(rows) == sum(groups)
    return [(field[4].decode(), TYPES[field[1]], field.get(6) == 0) for field in fields], rows, groups
