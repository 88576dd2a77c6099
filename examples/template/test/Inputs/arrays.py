"""Matrices as .npy files, with Python alone.

    arrays.py make FILE ROWS COLUMNS VALUE    bf16, as bits; VALUE `rows`: 2^i in row i
    arrays.py show FILE                       shape of an f32 matrix, its first column"""

import struct
import sys


def bits_of(value):
    return struct.unpack("<I", struct.pack("<f", value))[0] >> 16


def make(path, rows, columns, value):
    rows, columns = int(rows), int(columns)
    values = [2.0**i if value == "rows" else float(value) for i in range(rows)]
    header = f"{{'descr': '<u2', 'fortran_order': False, 'shape': ({rows}, {columns}), }}"
    header = header.ljust(117) + "\n"
    with open(path, "wb") as file:
        file.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode())
        for number in values:
            file.write(struct.pack("<H", bits_of(number)) * columns)


def show(path):
    data = open(path, "rb").read()
    size = struct.unpack("<H", data[8:10])[0]
    header = eval(data[10:10 + size].decode())
    assert header["descr"] == "<f4" and not header["fortran_order"], header
    rows, columns = header["shape"]
    numbers = struct.unpack(f"<{rows * columns}f", data[10 + size:])
    print(rows, "x", columns)
    print(*numbers[::columns])


{"make": make, "show": show}[sys.argv[1]](*sys.argv[2:])
