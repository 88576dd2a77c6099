"""Reads and writes safetensors files without the safetensors library. The format consists of 8 bytes with the length of
the JSON header, the header, and the data."""

import json
import pathlib

import ml_dtypes
import numpy as np

TYPES = {"U8": np.uint8, "BF16": ml_dtypes.bfloat16, "F32": np.float32, "I64": np.int64}
NAMES = {np.dtype(dtype): name for name, dtype in TYPES.items()}


def write(path, arrays):
    header, data = {}, b""
    for key, array in arrays.items():
        begin = len(data)
        data += array.tobytes()
        header[key] = {"dtype": NAMES[array.dtype], "shape": list(array.shape),
                       "data_offsets": [begin, len(data)]}
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    pathlib.Path(path).write_bytes(len(text).to_bytes(8, "little") + text + data)


def read(path):
    content = pathlib.Path(path).read_bytes()
    length = int.from_bytes(content[:8], "little")
    header = json.loads(content[8 : 8 + length])
    header.pop("__metadata__", None)
    data = content[8 + length :]
    return {key: np.frombuffer(data[slice(*entry["data_offsets"])], TYPES[entry["dtype"]])
            .reshape(entry["shape"]) for key, entry in header.items()}
