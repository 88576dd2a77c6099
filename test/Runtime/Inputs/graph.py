"""Captures a launch from Python in a CUDA graph on a GPU and replays it.

usage: graph.py PROGRAM (output of test/Launch/Inputs/make_program.py)
"""

import ctypes
import sys

import mx_compiler as mx
import numpy as np

mx.set_device("cuda")
cuda = ctypes.CDLL("libcuda.so.1")
pointer = ctypes.c_void_p


def check(status):
    assert status == 0, f"the driver's error {status}"


with mx.Program(sys.argv[1]) as program, mx.Stream() as stream:
    entry = program["sum"]
    rng = np.random.default_rng(5)
    x, y = (rng.standard_normal(300).astype(np.float32) for _ in range(2))
    assert np.array_equal(entry(x, y, 300)[0], x + y)

    arguments = [mx.array(x), mx.array(y), 300]
    results = entry.make_results(*arguments)
    graph, runs, context = pointer(), pointer(), pointer()
    # The runtime makes its context current only within its own calls.
    check(cuda.cuStreamGetCtx(stream.handle, ctypes.byref(context)))
    check(cuda.cuCtxPushCurrent_v2(context))
    check(cuda.cuStreamBeginCapture_v2(stream.handle, 1))  # of this thread
    # Fails if any call in between allocates or waits.
    entry.launch(arguments, results, stream=stream)
    check(cuda.cuStreamEndCapture(stream.handle, ctypes.byref(graph)))
    check(cuda.cuGraphInstantiateWithFlags(ctypes.byref(runs), graph,
                                           ctypes.c_ulonglong(0)))
    for i in range(3):
        arguments[0].copy_from(x + i, stream)
        check(cuda.cuGraphLaunch(runs, stream.handle))
        assert np.array_equal(results[0].numpy(stream=stream), x + i + y)
    check(cuda.cuGraphExecDestroy(runs))
    check(cuda.cuGraphDestroy(graph))

    try:
        entry(x, y[:299], 300)
        raise AssertionError("expected an error, found none")
    except mx.Error as error:
        assert "expected 300 elements of y, found 299" in str(error)
print(f"captured on {mx.device_info().name}")
