"""Covers every path of mx_calls: all uses of DLPack's exchange table, and all arguments of a launch. The arrays come
from a library that this test implements with ctypes.

REQUIRES: python-extension
RUN: %python -W error %s %mx_obj/lib/mx_calls.abi3.so | FileCheck %s
CHECK: all is well
"""

import ctypes
import gc
import importlib.machinery
import importlib.util
import os
import resource
import sys
import threading
from ctypes import (CFUNCTYPE, POINTER, Structure, c_int, c_int32, c_int64, c_size_t, c_uint8, c_uint16,
                    c_uint32, c_uint64, c_void_p, py_object)

from refuses import refuses
from threads import in_threads

loader = importlib.machinery.ExtensionFileLoader("mx_calls", sys.argv[1])
calls = importlib.util.module_from_spec(importlib.util.spec_from_file_location("mx_calls", sys.argv[1],
                                                                              loader=loader))
loader.exec_module(calls)


class Tensor(Structure):  # DLTensor of DLPack 1.3
    _fields_ = [("data", c_void_p), ("device_type", c_int32), ("device_id", c_int32), ("ndim", c_int32),
                ("code", c_uint8), ("bits", c_uint8), ("lanes", c_uint16), ("shape", POINTER(c_int64)),
                ("strides", POINTER(c_int64)), ("byte_offset", c_uint64)]


DESCRIBE = CFUNCTYPE(c_int, py_object, POINTER(Tensor))
STREAM = CFUNCTYPE(c_int, c_int32, c_int32, POINTER(c_void_p))


class Table(Structure):  # DLPackExchangeAPI
    _fields_ = [("major", c_uint32), ("minor", c_uint32), ("previous", c_void_p), ("allocate", c_void_p),
                ("from_object", c_void_p), ("to_object", c_void_p), ("describe", DESCRIBE), ("stream", STREAM)]


class Argument(Structure):  # mxArgument
    _fields_ = [("size", c_size_t), ("data", c_void_p), ("shape", POINTER(c_int64))]


class Array:
    """Array of the stand-in library, with its DLPack description."""
    requires_grad = False
    dtype = "float32"

    def __init__(self, shape, data=0x1000, code=2, bits=32, strides=None, device=(2, 0), offset=0, lanes=1, ndim=None):
        self.extents = (c_int64 * max(len(shape), 1))(*shape)
        dense = [1]
        for extent in reversed(shape[1:]):
            dense.insert(0, dense[0] * extent)
        given = dense[:len(shape)] if strides is None else strides
        self.strides = (c_int64 * max(len(given), 1))(*given)
        self.tensor = Tensor(data, *device, len(shape) if ndim is None else ndim, code, bits, lanes, self.extents,
                             None if strides == () else self.strides, offset)


class Derived(Array):
    pass


class Refused(Array):
    """Array that DLPack cannot describe."""


def describe(array, out):
    if type(array) is Refused:
        return -1
    out[0] = array.tensor
    return 0


def current_stream(kind, number, out):
    if number == 7:
        return -1
    out[0] = 0x50 + number
    return 0


_kept = []
new_capsule = ctypes.pythonapi.PyCapsule_New
new_capsule.restype, new_capsule.argtypes = py_object, [c_void_p, ctypes.c_char_p, c_void_p]


def exchange(name=b"dlpack_exchange_api", major=1, describe=describe, stream=current_stream, previous=None):
    """Returns a capsule of an exchange table."""
    table = Table(major, 3, previous, None, None, None, DESCRIBE(describe) if describe else DESCRIBE(),
                  STREAM(stream) if stream else STREAM())
    _kept.append((table, name))
    return new_capsule(ctypes.addressof(table), name, None)


enabled = True
TYPES = Array, Refused
arrays = calls.Arrays(exchange(), TYPES, lambda: enabled)

# --- Tables ---------------------------------------------------------------------------

refuses(TypeError, "argument", lambda: calls.Arrays(exchange(), TYPES))
refuses(TypeError, "must be tuple", lambda: calls.Arrays(exchange(), list(TYPES), len))
refuses(ValueError, "incorrect name", lambda: calls.Arrays(exchange(name=b"dltensor"), TYPES, len))
refuses(ValueError, "PyCapsule_GetPointer", lambda: calls.Arrays(3, TYPES, len))
refuses(ValueError, "expected an exchange table of DLPack 1, found version 2",
        lambda: calls.Arrays(exchange(major=2), TYPES, len))
refuses(ValueError, "expected an exchange table of DLPack 1, found version 0",
        lambda: calls.Arrays(exchange(major=0), TYPES, len))
for missing in ({"describe": None}, {"stream": None}):
    refuses(ValueError, "found a table that lacks one of these functions", lambda: calls.Arrays(exchange(**missing), TYPES, len))
# A newer table links to the table of the supported version.
exchange()
older = ctypes.addressof(_kept[-1][0])
later = calls.Arrays(exchange(major=3, previous=older, describe=None), TYPES, lambda: True)
assert later.sign([Array((2, 3))]) == arrays.sign([Array((2, 3))])

# --- Signatures -------------------------------------------------------------------------

plain = Array((4, 8))
same = arrays.sign([plain])
assert type(same) is bytes and arrays.sign((Array((4, 8), data=0x9000),)) == same
# Different calls and different argument lists have different signatures.
others = [[], [plain, plain], [Array((8, 4))], [Array((4, 8, 1))], [Array((32,))], [Array(())], [Array((4, 8), device=(2, 1))],
          [Array((4, 8), device=(1, 0))], [Array((4, 8), strides=[1, 4])], [1], [1.0], [True], [1, 1.0], [1.0, 1],
          [plain, 1], [1, plain]]
graded, typed = Array((4, 8)), Array((4, 8))
graded.requires_grad = True
typed.dtype = "float16"
others += [[graded], [typed]]
found = [arrays.sign(x) for x in others]
assert len({same, *found}) == len(others) + 1 and None not in found
assert arrays.sign([2]) == arrays.sign([1]) and arrays.sign([False]) == arrays.sign([True])
enabled = False
assert arrays.sign([graded]) == same
enabled = True
# Empty arrays are dense. The strides of dimensions with extent 1 are ignored.
assert arrays.sign([Array((1, 8), strides=[77, 1])]) == arrays.sign([Array((1, 8))])
assert arrays.sign([Array((0, 8), strides=[1, 5])]) == arrays.sign([Array((0, 8))])
assert arrays.sign([Array((4, 8), strides=())]) == same
assert arrays.sign([Array((4, 8), strides=[16, 1])]) not in (None, same)


class Integer(int):
    pass


for unknown in ("x", None, [1], Derived((4, 8)), Refused((4, 8)), Integer(3), Array((1,), ndim=-1), Array((1,), ndim=65)):
    assert arrays.sign([plain, unknown]) is None, unknown
assert arrays.sign([Array((1,) * 64)] * 2) is None  # Python handles signatures of this length
refuses(TypeError, "not iterable", lambda: arrays.sign(3))


class Raises(Array):
    @property
    def requires_grad(self):
        raise KeyError("asked")

    def __init__(self, *shape):
        super().__init__(*shape)


class Untyped(Array):
    dtype = property(lambda self: {}["asked for the type"])


raising = calls.Arrays(exchange(), (Array, Raises, Untyped), lambda: 1 // 0)
refuses(KeyError, "asked for the type", lambda: raising.sign([Untyped((1,))]))
refuses(KeyError, "asked", lambda: raising.sign([Raises((1,))]))
refuses(ZeroDivisionError, "division", lambda: raising.sign([graded]))

# --- Calls ------------------------------------------------------------------------------

LAUNCH = CFUNCTYPE(c_int, c_void_p, POINTER(Argument), c_int32, POINTER(c_void_p), c_int32, c_void_p, c_size_t, c_void_p)
launched, status, during = [], 0, None
formats = ""  # formats of the arguments


def read(argument, kind):
    if kind != "a":
        return {"i": c_int32, "q": c_int64, "f": ctypes.c_float, "d": ctypes.c_double}[kind].from_address(
            argument.data).value
    return argument.data or 0, argument.shape[0]


@LAUNCH
def launch(entry, given, count, results, result_count, workspace, workspace_bytes, stream):
    assert all(given[i].size == 24 for i in range(count))
    launched.append((entry, [read(given[i], formats[i]) for i in range(count)],
                     [results[i] for i in range(result_count)], workspace, workspace_bytes, stream))
    if during:
        during()
    return status


ADDRESS = ctypes.cast(launch, c_void_p).value


def prepare(kinds, arguments, makers=(), workspace=None, workspace_bytes=0, of=arrays):
    return calls.Call(of, ADDRESS, 0xE, kinds, tuple(arguments), tuple(makers), workspace, workspace_bytes).run


def call(run, kinds, arguments):
    """Returns the launches and the result of a call."""
    global formats
    formats = kinds
    launched.clear()
    returned = run(arguments)
    return (launched[0] if launched else None), returned


x, y = Array((4, 8)), Array((2,), data=0x2000, code=4, bits=16)
made = [Array((4,), data=0x8000), Array((4,), data=0x9000, offset=64)]
kinds = "aaiqfd"
run = prepare(kinds, (x, y, 1, 1, 1.0, 1.0), [lambda: made[0], lambda: made[1]], lambda: Array((99,), data=0xA000), 96)
moved = Array((4, 8), data=0x4000, offset=32)
done, returned = call(run, kinds, [moved, y, -7, 2**40, 0.5, 1e300])
assert done == (0xE, [(0x4020, 4), (0x2000, 2), -7, 2**40, 0.5, 1e300], [0x8000, 0x9040], 0xA000, 96, 0x50), done
assert type(returned) is list and returned[0] is made[0] and returned[1] is made[1]
# The smallest and largest numbers, infinities, and numbers that raise NumPy warnings.
good = [x, y, 1, 1, 1.0, 1.0]
for place, value, fits in ((2, 2**31 - 1, True), (2, -2**31, True), (2, 2**31, False), (2, 2**70, False),
                           (3, 2**63 - 1, True), (3, -2**63, True), (3, 2**63, False), (3, True, False), (3, 1.0, False),
                           (4, 3e38, True), (4, 1e39, False), (4, float("inf"), True), (4, 1, False),
                           (5, float("-inf"), True), (5, 1, False)):
    given = good[:place] + [value] + good[place + 1:]
    done, returned = call(run, kinds, given)
    assert (type(returned) is list) == fits == (done is not None), (place, value)
    if fits:
        assert ctypes.c_float(value).value == done[1][place] if place == 4 else done[1][place] == value
    else:
        assert returned is None
# Calls with changed arguments are passed to Python before any allocation.
for wrong in (Array((4, 9)), Array((8, 4)), Array((4, 8, 1)), Array((4, 8), code=1), Array((4, 8), bits=16),
              Array((4, 8), lanes=2), Array((4, 8), device=(2, 1)), Array((4, 8), device=(1, 0)),
              Array((4, 8), strides=[1, 4]), Array((4, 8), data=0x1008), Array((4, 8), offset=8), Derived((4, 8)),
              Refused((4, 8)), None, 3):
    assert call(run, kinds, [wrong, *good[1:]]) == (None, None), wrong
assert call(run, kinds, good[:-1]) == (None, None) and call(run, kinds, [*good, 1]) == (None, None)
refuses(TypeError, "not iterable", lambda: run(None))
# The address of an empty array is ignored.
empty = prepare("a", [Array((0, 8), data=0)])
assert call(empty, "a", (Array((0, 8), data=0x1003),)) == ((0xE, [(0x1003, 0)], [], None, 0, 0x50), [])
scalar = prepare("a", [Array(())])
assert call(scalar, "a", [Array(())])[0][1] == [(0x1000, 0)]
# The launch uses the current stream of the array's device.
other = prepare("a", [Array((1,), device=(2, 3))])
assert call(other, "a", [Array((1,), device=(2, 3))])[0][-1] == 0x53
lost = prepare("a", [Array((1,), device=(2, 7))])
refuses(RuntimeError, "to have a current stream on device 7", lambda: lost([Array((1,), device=(2, 7))]))
# A failing launch.
status = 3
assert call(run, kinds, good)[1] == 3
status = 0

# --- Allocations --------------------------------------------------------------------------

one = [Array((1,))]
for bad in (lambda: None, lambda: Derived((1,)), lambda: Refused((1,))):
    assert call(prepare("a", one, [lambda: made[0], bad]), "a", one) == (None, None)
    assert call(prepare("a", one, [], bad, 8), "a", one) == (None, None)
for makers, workspace in (([lambda: 1 // 0], None), ([], lambda: 1 // 0)):
    refuses(ZeroDivisionError, "division", lambda: prepare("a", one, makers, workspace, 8)(one))
assert not launched
# Arguments stay alive during the launch, even if their list changes.
alive = []


class Counted(Array):
    def __del__(self):
        alive.remove(self.number)


counting = calls.Arrays(exchange(), (Array, Counted), lambda: True)


def counted(number):
    array = Counted((1,))
    array.number = number
    alive.append(number)
    return array


def drop():
    given.clear()
    gc.collect()
    assert sorted(alive) == [1, 2, 3], alive


given, during = [counted(1)], drop
returned = prepare("a", given, [lambda: counted(2)], lambda: counted(3), 8, of=counting)(given)
during = None
assert alive == [2] or alive == [2, 1] or alive == [1, 2], alive
del returned
gc.collect()

# --- Preparing ------------------------------------------------------------------------------

for text, wrong in (("expected an array of the library", ("a", [Derived((1,))])),
                    ("expected dense arrays on the same device", ("a", [Array((2, 2), strides=[1, 2])])),
                    ("expected dense arrays on the same device", ("aa", [Array((1,)), Array((1,), device=(2, 1))])),
                    ("expected an array, found none", ("i", [1])), ("expected an array, found none", ("", [])),
                    ("expected argument kinds", ("az", [Array((1,)), 1])),
                    ("a kind for each argument", ("a", [Array((1,))] * 2)),
                    ("at most 32 arguments", ("a" * 33, [Array((1,))] * 33)),
                    ("at most 32 arguments", ("a", [Array((1,))], [Array] * 33))):
    refuses(ValueError, text, lambda: prepare(*wrong))
assert call(prepare("a" * 32, [x] * 32, [lambda: made[0]] * 32), "a" * 32, [x] * 32)[0][2] == [0x8000] * 32
refuses(TypeError, "expected Arrays as the first argument", lambda: prepare("a", one, of=3))
refuses(TypeError, "argument", lambda: calls.Call(arrays))
refuses(OverflowError, "", lambda: calls.Call(arrays, 2**70, 0, "a", (x,), (), None, 0))

# --- Threads --------------------------------------------------------------------------------

formats = kinds
assert all(in_threads(lambda _: all(type(run(list(good))) is list for _ in range(500)), 4))
# The global lock is free during a launch.
entered, leave = threading.Event(), threading.Event()


def meet():
    entered.set()
    assert leave.wait(60)


during = meet
thread = threading.Thread(target=lambda: run(good))
thread.start()
assert entered.wait(60)
leave.set()
thread.join()
during = None

# --- Memory ---------------------------------------------------------------------------------


table = exchange()


def everything():
    arrays.sign(good)
    calls.Arrays(table, TYPES, len).sign(good)
    arrays.sign([plain, "x"])
    run(good)
    run([Array((4, 9)), *good[1:]])
    launched.clear()
    prepare("aa", (x, y), [lambda: made[0]])([x, y])
    for wrong in (("a", [Derived((1,))]), ("aa", [x, Array((1,), device=(2, 1))])):
        try:
            prepare(*wrong)
        except ValueError:
            pass


def blocks(count):
    for _ in range(count):
        everything()
    gc.collect()
    return sys.getallocatedblocks()


def references():
    return [sys.getrefcount(x) for x in (x, made[0], arrays, calls.Call, None)]


blocks(200)
counts = references()
before, peak = blocks(200), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
after = blocks(3000)
assert after - before < 100, (before, after)
if "libasan" not in os.environ.get("LD_PRELOAD", ""):  # ASan keeps freed memory
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - peak < 4096
assert all(abs(a - b) < 500 for a, b in zip(references(), counts)), (counts, references())

# Out of memory.
try:
    import _testcapi
except ImportError:
    _testcapi = None
tries = (lambda: calls.Arrays(table, TYPES, len), lambda: arrays.sign([1, 2.0]),
         lambda: calls.Call(arrays, ADDRESS, 0, "i", (1,), (), None, 0))
for attempt in tries if _testcapi else ():
    ended = set()
    for start in range(1, 30):
        _testcapi.set_nomemory(start, start + 1)
        try:
            attempt()
            kind = None
        except Exception as error:
            kind = type(error)
        finally:
            _testcapi.remove_mem_hooks()
        ended.add(kind)
    assert MemoryError in ended and ended <= {None, MemoryError, ValueError}, ended
print("all is well")
