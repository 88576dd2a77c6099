"""Tests mx.Group in Python. Ranks are threads, each with its own device, or processes. Exchanged data is compared with
NumPy, and each error is one sentence.

RUN: env MX_SIM_DEVICES=2 MX_CUDA_DRIVER=none MX_QUIET=1 %python %s %mx_src %t
"""

import pathlib
import re
import shutil
import socket
import subprocess
import sys

import numpy as np

import mx_compiler as mx
from rank_helpers import Exchange
from refuses import refuses
from threads import in_threads

source, work, *rank_of_child = sys.argv[1:]
sys.path.insert(0, f"{source}/test/Launch/Inputs")
import make_ranks

rng = np.random.default_rng(3)
xs = [rng.standard_normal(64).astype(np.float32) for _ in range(2)]
ys = [rng.standard_normal((2, 64)).astype(np.float32) for _ in range(2)]
expected = make_ranks.expected(xs, ys)


def check(program, rank):
    """Calls a program several times with new arrays, and compares the results with those of its launch plan."""
    for factor in 1, 2, 4:  # powers of two, so results are exact
        z, found = program["main"](xs[rank] * factor, ys[rank] * factor)
        np.testing.assert_array_equal(z, expected[rank] * factor)
        assert found == rank


if rank_of_child:
    rank, address = int(rank_of_child[0]), rank_of_child[1]
    mx.set_device("sim")
    with mx.Group.connect(address, rank, 2, name="pair", timeout=60) as group:
        with mx.Program(f"{work}/two") as program:
            program.bind("ep", group)
            check(program, rank)
    sys.exit()

shutil.rmtree(work, ignore_errors=True)
for name, text in ("two", make_ranks.manifest()), ("four", make_ranks.manifest(size=4)):
    folder = pathlib.Path(work, name)
    folder.mkdir(parents=True)
    shutil.copy(f"{source}/runtime/test/kernels.ptx", folder / "kernels.ptx")
    (folder / "manifest.json").write_text(text)


def on_ranks(function, size=2, device="sim"):
    """Calls `function(rank)` for each rank, in a thread with the rank's device. Returns the results."""
    def run(rank):
        mx.set_device(f"sim:{rank}" if device == "sim" else device)
        return function(rank)

    mx.set_device(device)  # this thread chooses before the others
    return in_threads(run, size)


def make_groups(**options):
    exchange = Exchange(2)
    return on_ranks(lambda rank: mx.Group(rank, 2, exchange.of(rank), timeout=60, **options))


# Groups without a program.
groups = make_groups(name="pair")
assert [(g.name, g.rank, g.size, g.device, g.transport, g.status(), g.window_bytes) for g in groups] == [
    ("pair", rank, 2, ("sim", "sim:1")[rank], "host", None, 0) for rank in range(2)]


def collect(group, own, put, get):
    """Checks both collectives on arrays that `put` makes and `get` reads. `own` is the window of this rank."""
    own[2 * group.rank:2 * group.rank + 2] = group.rank + 1
    assert (get(group.all_gather(put(own))) == [[1]] * 2 + [[2]] * 2).all()
    sent = np.arange(8, dtype=np.int32).reshape(2, 4) + 100 * group.rank
    out = group.all_to_all(put(sent), put(np.empty((2, 4), np.int32)))
    np.testing.assert_array_equal(get(out), np.arange(4) + 4 * group.rank + [[0], [100]])


on_ranks(lambda rank: collect(groups[rank], np.zeros((4, 3), np.float32), mx.array, mx.DeviceArray.numpy))


# Groups bound to programs.
def run(rank):
    with mx.Program(f"{work}/two") as program:
        assert program.groups == {"ep": mx.GroupInfo("ep", 2, 1, 1024, None)}
        refuses(mx.InvalidValueError, "found an unbound program: call mxProgramBindGroup (in Python "
                "Program.bind) on each rank",
                lambda: program["main"](xs[rank], ys[rank]))
        refuses(mx.Error, "expected the group to be one of [ep], found 'tp'",
                lambda: program.bind("tp", groups[rank]))
        refuses(TypeError, "group: expected an mx_compiler.Group, found 2",
                lambda: program.bind("ep", 2))
        refuses(ValueError, "group 'ep': expected the 4 ranks for which the program was compiled, found 2",
                lambda: mx.Program(f"{work}/four").bind("ep", groups[rank]))
        program.bind("ep", groups[rank])
        assert program.groups["ep"].rank == rank and groups[rank].window_bytes >= 1024
        check(program, rank)


on_ranks(run)


# The example of the page.
page = pathlib.Path(source, "docs/guide/Python.md").read_text()
block = re.search("run by test/Package/groups.py -->\n```python\n(.*?)```", page, re.DOTALL)[1]
shown, exchange = {"mx": mx}, Exchange(2)
exec(block, shown)
for rank, (z, found) in enumerate(on_ranks(lambda rank: shown["run"](
        rank, exchange.of(rank), f"{work}/two", xs[rank], ys[rank]))):
    np.testing.assert_array_equal(z, expected[rank])
    assert found == rank


# Invalid arguments raise before any rank waits.
def refuse(rank):
    group, array = groups[rank], mx.empty((4, 3), np.float32)
    refuses(ValueError, "array: expected a first dimension that is a multiple of 2, the number of ranks, found shape (3, 4)",
            lambda: group.all_gather(mx.empty((3, 4), np.float32)))
    refuses(ValueError, f"array: expected a dense array of {group.device}, the device of the rank group, found memory of cpu",
            lambda: group.all_gather(np.zeros((4, 3), np.float32)))
    refuses(TypeError, "found list", lambda: group.all_gather([1, 2]))
    refuses(ValueError, "out: expected shape (4, 3) of float32, like 'array', found (4, 3) of int32",
            lambda: group.all_to_all(array, mx.empty((4, 3), np.int32)))


on_ranks(refuse)

# If one rank aborts a group, the group ends on all ranks.
groups[0].abort("no more data")
failure = groups[0].status()
assert failure.rank == 0 and "no more data" in failure.text, failure


def fail(rank):
    refuses(mx.Error, "no more data", lambda: groups[rank].all_gather(mx.empty((4, 3), np.float32)))
    assert "no more data" in groups[rank].status().text


on_ranks(fail)
for group in groups:
    group.close()
refuses(ValueError, "the rank group was closed", lambda: groups[0].status())

# Creation of a group.
alone = mx.Group(0, 1)
assert alone.size == 1 and (alone.all_gather(mx.array(np.ones(3))).numpy() == 1).all()
refuses(ZeroDivisionError, "division by zero",
        lambda: mx.Group(0, 2, lambda mine: 1 / 0, timeout=1))
refuses(ValueError, "from each of 2 ranks, found lengths [3]",
        lambda: mx.Group(0, 2, lambda mine: [b"abc"], timeout=1))
refuses(ValueError, "expected a rank below 2, found 2",
        lambda: mx.Group(2, 2, lambda mine: [mine, mine]))
refuses(ValueError, "timeout: expected more than 0 and less than a million seconds, found 0",
        lambda: mx.Group(0, 1, timeout=0))
for option, value, wanted in (("timeout", "5", "seconds"), ("name", 3, "a string"), ("transport", 3, "a string")):
    refuses(TypeError, f"{option}: expected {wanted}, found {type(value).__name__}",
            lambda option=option, value=value: mx.Group(0, 1, **{option: value}))

# The device cpu uses host memory without copies.
mx.set_device("cpu")
for transport in ("nccl", "peer"):
    refuses(ValueError, f'transport: expected "host" or "auto" on cpu, found "{transport}", which requires GPUs',
            lambda transport=transport: mx.Group(0, 1, transport=transport))


def on_cpu(function):
    return on_ranks(function, device="cpu")


TEXT = """
mx.group @ep size = 2 tokens = 4
func.func @sum(%x: tensor<?x3xf32>) -> (tensor<4x3xf32>, index) {
  %w0 = mx.window @ep : tensor<8x3xf32>
  %w = mx.all_gather @ep ins(%x : tensor<?x3xf32>) outs(%w0 : tensor<8x3xf32>) -> tensor<8x3xf32>
  %r = mx.rank @ep
  %a = tensor.extract_slice %w[0, 0] [4, 3] [1, 1] : tensor<8x3xf32> to tensor<4x3xf32>
  %b = tensor.extract_slice %w[4, 0] [4, 3] [1, 1] : tensor<8x3xf32> to tensor<4x3xf32>
  %e = tensor.empty() : tensor<4x3xf32>
  %s = linalg.add ins(%a, %b : tensor<4x3xf32>, tensor<4x3xf32>) outs(%e : tensor<4x3xf32>) -> tensor<4x3xf32>
  return %s, %r : tensor<4x3xf32>, index
}
"""
exchange = Exchange(2)
hosts = on_cpu(lambda rank: mx.Group(rank, 2, exchange.of(rank), timeout=60))
assert [(g.rank, g.device, g.transport) for g in hosts] == [(0, "cpu", "host"), (1, "cpu", "host")]


def run_on_cpu(rank):
    group = hosts[rank]
    own = np.zeros((4, 3), np.float32)
    collect(group, own, np.asarray, np.asarray)
    program = mx.compile(TEXT)
    assert program.groups == {"ep": mx.GroupInfo("ep", 2, 4, 0, None)}
    refuses(mx.InvalidValueError, "entry 'sum': expected group 'ep' of 2 ranks to be bound",
            lambda: program["sum"](own))
    refuses(mx.Error, "expected the group to be one of [ep], found 'tp'",
            lambda: program.bind("tp", group))
    refuses(ValueError, "group 'ep': expected a rank group on cpu for a program on cpu, found a rank group on sim",
            lambda: program.bind("ep", alone))
    program.bind("ep", group)
    assert program.groups["ep"].rank == rank
    z, found = program["sum"](np.full((4, 3), rank + 1, np.float32))
    assert (z == 3).all() and found == rank
    # Ranks that bind different programs get an error before a call.
    other = mx.compile(TEXT.replace("@sum", "@other") if rank else TEXT)
    refuses(mx.Error, "group ep: the ranks bind different programs: the program of rank 1 differs from the program "
            "of rank 0",
            lambda: other.bind("ep", group))
    return program


programs = on_cpu(run_on_cpu)
refuses(TypeError, "array: expected an array of NumPy, as the rank group is on cpu, found list",
        lambda: hosts[0].all_gather([1, 2]))
refuses(ValueError, "array: expected a first dimension that is a multiple of 2, the number of ranks, found shape (3,)",
        lambda: hosts[0].all_gather(np.zeros(3)))
refuses(ValueError, "array: expected a dense writable array, found an array that is not dense or not writable",
        lambda: hosts[0].all_gather(np.zeros((4, 4))[:, ::2]))
hosts[1].abort("no more data")
refuses(mx.Error, "entry 'sum': all_gather, collective 1 of @sum: group ep: rank 1 gave up",
        lambda: programs[0]["sum"](np.zeros((4, 3), np.float32)))
try:
    mx.compile(TEXT.replace("size = 2", "size = 1").replace("8x3", "4x3").replace("[4, 0]", "[0, 0]"))["sum"](
        np.zeros((5, 3), np.float32))
except mx.InvalidValueError as error:
    assert re.match(r"entry 'sum': \S+:5:8: expected at most 4 tokens per rank of group ep, found 5", str(error)), error
else:
    raise AssertionError("expected an error for 5 tokens")

# A program shares ownership of the group. If either is closed during a call, the call continues on every device, and
# the rank still waits for the other rank.
for device in "cpu", "sim":
    exchange = Exchange(2)
    pair = on_ranks(lambda rank: mx.Group(rank, 2, exchange.of(rank), timeout=2), device=device)

    def call_closed(rank):
        program = mx.compile(TEXT)
        program.bind("ep", pair[rank])
        pair[rank].close()
        z, found = program["sum"](np.full((4, 3), rank + 1, np.float32))
        assert (z == 3).all() and found == rank
        refuses(ValueError, "the rank group was closed", lambda: pair[rank].status())
        refuses(ValueError, "the rank group was closed", lambda: program.bind("ep", pair[rank]))
        return program

    first, second = on_ranks(call_closed, device=device)
    second.close()
    try:
        on_ranks(lambda rank: None if rank else first["sum"](np.zeros((4, 3), np.float32)), device=device)
    except mx.Error as error:
        assert "group ep: rank 1 left" in str(error) and error.name == "peer failed", (device, error)
        assert str(error).startswith("entry 'sum': "), error
    else:
        raise AssertionError(f"{device}: expected an error for a call by only one rank")
    first.close()
mx.set_device("sim")
refuses(ValueError, "group 'ep': expected a rank group on sim or a GPU, like the program, found a rank group on cpu",
        lambda: mx.Program(f"{work}/two").bind("ep", hosts[0]))

# Processes.
with socket.socket() as probe:
    probe.bind(("127.0.0.1", 0))
    address = f"127.0.0.1:{probe.getsockname()[1]}"
for child in [subprocess.Popen([sys.executable, __file__, source, work, str(rank), address])
              for rank in range(2)]:
    assert child.wait(120) == 0
