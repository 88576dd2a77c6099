"""A hand-written program for two ranks: its manifest, and its expected results, computed with NumPy."""

import json

import numpy as np


def launch(a, b, c, count):
    args = [{"buffer": x} if isinstance(x, str) else {"buffer": x[0], "offset": x[1]}
            for x in (a, b, c)]
    return {"launch": "vector_add", "grid": [1, 1, 1], "args": [*args, {"i32": count}]}


def array(name, *shape):
    return {"name": name, "type": f"tensor<{'x'.join(map(str, shape))}xf32>", "dtype": "f4",
            "shape": list(shape)}


def manifest(**changes):
    """Returns the manifest of main(x, y): each rank doubles its x, gathers the x of all ranks,
    adds its own y, and sends row d of the sum to rank d. Results are the received rows and the
    rank."""
    entry = {
        "name": "main",
        "arguments": [array("x", 64), array("y", 2, 64)],
        "results": [array("z", 2, 64),
                    {"name": "rank", "type": "index", "dtype": "i8", "value": "group0.rank"}],
        "values": [["mul", "group0.rank", 256]],
        "requires": [],
        "workspace": 512,
        "buffers": [{"offset": 0, "bytes": 512}],
        "windows": [{"group": 0, "offset": 0, "bytes": 512},
                    {"group": 0, "offset": 512, "bytes": 512}],
        "tensor_maps": [],
        "steps": [
            launch("arg0", "arg0", ("win0", "v0"), 64),
            {"all_gather": "win0", "group": 0, "bytes": 256},
            launch("win0", "arg1", "work0", 128),
            {"all_to_all": "work0", "to": "win1", "group": 0, "bytes": 256},
            {"copy": "win1", "to": "result0", "bytes": 512},
        ],
    }
    return json.dumps({
        "format": 5, "target": "sm_90a", "ptx": "kernels.ptx",
        "groups": [{"name": "ep", "size": 2, "tokens": 1, **changes}],
        "kernels": [{"name": "vector_add", "block": [128, 1, 1], "dynamic_smem": 0,
                     "programmatic": False}],
        "entries": [entry],
    }, indent=2)


def expected(xs, ys):
    """Returns the expected z of each rank."""
    gathered = np.stack([2 * x for x in xs])
    return [np.stack([gathered[rank] + ys[source][rank] for source in range(2)])
            for rank in range(2)]
