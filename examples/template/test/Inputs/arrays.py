"""Writes and reads .npy arrays in plain Python.

    arrays.py make FILE SHAPE TYPE VALUE    e.g. 8x64 bf16 0.5; VALUE `rows`: 2^i in row i
    arrays.py show FILE                     the shape of an f32 array, and its first column

bf16 values are stored as bits."""

import ast
import math
import struct
import sys


def bf16(value):
    return struct.pack("<f", value)[2:]


def f32(value):
    return struct.pack("<f", value)


TYPES = {"bf16": ("<u2", bf16), "f32": ("<f4", f32)}


def make(path, shape, dtype, value):
    shape = tuple(map(int, shape.split("x")))
    descr, pack = TYPES[dtype]
    header = f"{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}".ljust(117) + "\n"
    columns, rows = shape[-1], math.prod(shape[:-1])
    with open(path, "wb") as file:
        file.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode())
        for i in range(rows):
            file.write(pack(2.0**i if value == "rows" else float(value)) * columns)


def show(path):
    with open(path, "rb") as file:
        data = file.read()
    end = 10 + struct.unpack("<H", data[8:10])[0]
    header = ast.literal_eval(data[10:end].decode())
    assert header["descr"] == "<f4" and not header["fortran_order"], header
    shape = header["shape"]
    numbers = struct.unpack(f"<{math.prod(shape)}f", data[end:])
    print(*shape, sep="x")
    print(*numbers[::shape[-1]])


{"make": make, "show": show}[sys.argv[1]](*sys.argv[2:])
