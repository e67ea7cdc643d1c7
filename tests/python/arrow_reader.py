# SPDX-License-Identifier: GPL-2.0-or-later
"""A reader of Arrow's C data interface, written from its specification, that knows nothing of fencepost.

It reads through offsets, validity bits and dictionaries, takes children over as a consumer may, and releases what it
was given; `ReadError` is whatever the specification does not allow.
"""

import ctypes as c
import struct

PRIMITIVES = {"c": "b", "C": "B", "s": "h", "S": "H", "i": "i", "I": "I", "l": "q", "L": "Q", "f": "f", "g": "d"}


class ReadError(Exception):
    pass


class Schema(c.Structure):
    pass


class Array(c.Structure):
    pass


class Stream(c.Structure):
    pass


Schema._fields_ = [("format", c.c_char_p), ("name", c.c_char_p), ("metadata", c.c_void_p), ("flags", c.c_int64),
                   ("n_children", c.c_int64), ("children", c.POINTER(c.POINTER(Schema))),
                   ("dictionary", c.POINTER(Schema)), ("release", c.CFUNCTYPE(None, c.POINTER(Schema))),
                   ("private_data", c.c_void_p)]
Array._fields_ = [("length", c.c_int64), ("null_count", c.c_int64), ("offset", c.c_int64), ("n_buffers", c.c_int64),
                  ("n_children", c.c_int64), ("buffers", c.POINTER(c.c_void_p)),
                  ("children", c.POINTER(c.POINTER(Array))), ("dictionary", c.POINTER(Array)),
                  ("release", c.CFUNCTYPE(None, c.POINTER(Array))), ("private_data", c.c_void_p)]
Stream._fields_ = [("get_schema", c.CFUNCTYPE(c.c_int, c.POINTER(Stream), c.POINTER(Schema))),
                   ("get_next", c.CFUNCTYPE(c.c_int, c.POINTER(Stream), c.POINTER(Array))),
                   ("get_last_error", c.CFUNCTYPE(c.c_char_p, c.POINTER(Stream))),
                   ("release", c.CFUNCTYPE(None, c.POINTER(Stream))), ("private_data", c.c_void_p)]

_pointer = c.pythonapi.PyCapsule_GetPointer
_pointer.restype, _pointer.argtypes = c.c_void_p, [c.py_object, c.c_char_p]


def opened(capsule, name, kind):
    return c.cast(_pointer(capsule, name), c.POINTER(kind))


def check(holds, sentence):
    if not holds:
        raise ReadError(sentence)


def numbers(address, letter, first, count):
    size = struct.calcsize(letter)
    check(address or not count, "a buffer is missing")
    return list(struct.unpack(f"<{count}{letter}", c.string_at(address + first * size, count * size))) if count else []


def bits(address, first, count):
    data = c.string_at(address, (first + count + 7) // 8)
    return [bool(data[i // 8] >> i % 8 & 1) for i in range(first, first + count)]


def buffers_of(schema, array, wanted):
    check(array.n_buffers == wanted, f"{schema.format}: {array.n_buffers} buffers instead of {wanted}")
    return [array.buffers[i] for i in range(wanted)]


def variable(schema, array, letter, convert):
    _, ends, data = buffers_of(schema, array, 3)
    ends = numbers(ends, letter, array.offset, array.length + 1)
    check(ends == sorted(ends) and ends[0] >= 0, "offsets that go back")
    return [convert(c.string_at(data + a, b - a)) if b > a else convert(b"") for a, b in zip(ends, ends[1:])]


def values(schema, array):
    """Of a column, as Python objects."""
    form = schema.format.decode()
    check(array.release and schema.release, "released before it was read")
    if form == "n":
        check(array.n_buffers == 0 and array.null_count == array.length, "a null column with values")
        return [None] * array.length
    if form == "+s":
        check(array.n_children == schema.n_children, "children that the schema does not have")
        buffers_of(schema, array, 1)
        columns = {}
        for i in range(schema.n_children):
            its, child = schema.children[i].contents, array.children[i].contents
            check(child.length >= array.offset + array.length, "a child that is too short")
            columns[its.name.decode()] = values(its, child)
        return columns
    if form in ("u", "U", "z", "Z"):
        read = variable(schema, array, "i" if form in "uz" else "q", bytes.decode if form in "uU" else bytes)
    elif form == "b":
        read = bits(buffers_of(schema, array, 2)[1], array.offset, array.length)
    else:
        check(form in PRIMITIVES, f"unknown format {form}")
        read = numbers(buffers_of(schema, array, 2)[1], PRIMITIVES[form], array.offset, array.length)
    if schema.dictionary:
        names = values(schema.dictionary.contents, array.dictionary.contents)
        check(len(set(names)) == len(names), "a text twice in a dictionary")
        read = [names[number] for number in read]
    there = bits(array.buffers[0], array.offset, array.length) if array.buffers[0] else [True] * array.length
    check(array.null_count == there.count(False), "null_count is not what the bits say")
    return [value if is_there else None for value, is_there in zip(read, there)]


def schema_of(schema):
    """(name, format, format of the dictionary) of each column."""
    children = [schema.children[i].contents for i in range(schema.n_children)]
    return [(child.name.decode(), child.format.decode(),
             child.dictionary.contents.format.decode() if child.dictionary else None) for child in children]


def read_schema(capsule):
    schema = opened(capsule, b"arrow_schema", Schema)
    fields = schema_of(schema.contents)
    schema.contents.release(schema)
    check(not schema.contents.release, "release() did not mark the structure")
    return fields


def read_array(capsules):
    """{column: values} of what `__arrow_c_array__` gave."""
    schema, array = opened(capsules[0], b"arrow_schema", Schema), opened(capsules[1], b"arrow_array", Array)
    read = values(schema.contents, array.contents)
    array.contents.release(array)
    schema.contents.release(schema)
    check(not array.contents.release, "release() did not mark the structure")
    return read


def read_stream(capsule, children_first=False):
    """([fields], [a {column: values} for each batch]) of what `__arrow_c_stream__` gave.

    With `children_first` each child is taken over, as a consumer may that wants only some: the parent is released first.
    """
    stream = opened(capsule, b"arrow_array_stream", Stream)
    schema, batches = Schema(), []
    failed = stream.contents.get_schema(stream, schema)
    check(not failed, f"get_schema: {failed}")
    while True:
        array = Array()
        if failed := stream.contents.get_next(stream, array):
            said = (stream.contents.get_last_error(stream) or b"").decode()
            schema.release(schema)
            stream.contents.release(stream)
            raise OSError(failed, said)
        if not array.release:
            break
        if children_first:
            kept = []
            for i in range(array.n_children):
                child = Array()
                c.memmove(c.byref(child), array.children[i], c.sizeof(Array))
                array.children[i].contents.release = type(child.release)()
                kept.append(child)
            array.release(array)
            batches.append({schema.children[i].contents.name.decode(): values(schema.children[i].contents, child)
                            for i, child in enumerate(kept)})
            for child in kept:
                child.release(child)
        else:
            batches.append(values(schema, array))
            array.release(array)
    fields = schema_of(schema)
    schema.release(schema)
    stream.contents.release(stream)
    check(not stream.contents.release, "release() did not mark the structure")
    return fields, batches
