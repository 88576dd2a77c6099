"""Runs programs with --peer-stores on 2 to 4 devices that map each other's windows, in one simulation with late and
reordered stores to peers, and compares every defined element with the reference path. Each entry runs twice, so stores
of the second call could overtake reads of the first. Without one of the barriers of @gather or @collect, or with
barriers of a narrower scope, the simulator must report a race.

RUN: %python %s mx-compile mx-run mx-sim %S/Inputs/peer_stores.ptx %t sm_90a
REQUIRES: compiler, numpy
"""

import itertools
import json
import pathlib
import re
import subprocess
import sys

import numpy as np
from harness import BF16, stored
from work_folder import enter

MX_COMPILE, MX_RUN, MX_SIM, KERNELS, WORK, CHIP = sys.argv[1:]
KERNELS = pathlib.Path(KERNELS).read_text()
enter(WORK)
TOKENS, COLUMNS, EXPERTS, LINE = 16, 160, 12, 128
OPERATORS = {"add": int.__add__, "sub": int.__sub__, "mul": int.__mul__, "floordiv": int.__floordiv__,
             "ceildiv": lambda a, b: -(-a // b), "mod": int.__mod__, "min": min, "max": max, "eq": int.__eq__,
             "ne": int.__ne__, "lt": int.__lt__, "le": int.__le__, "select": lambda a, b, c: b if a else c}
QUANTIZE = """  %c0 = arith.constant 0 : index
  %t = tensor.dim %x, %c0 : !x
  %e0 = tensor.empty(%t) : !e
  %s0 = tensor.empty(%t) : !s
  %q:2 = mx.quantize ins(%x : !x) outs(%e0, %s0 : !e, !s) axes = [1] -> !e, !s
  %we0 = mx.window @ep : !we
  %ws0 = mx.window @ep : !ws
"""
PROGRAM = """
mx.group @ep size = {ranks} tokens = 16
!x = tensor<?x160xbf16>
!e = tensor<?x160xf8E4M3FN>
!s = tensor<?x5xf8E8M0FNU>
!we = tensor<{window}x160xf8E4M3FN>
!ws = tensor<{window}x5xf8E8M0FNU>
!wx = tensor<{window}x160xbf16>
!wi = tensor<{window}x2xi32>
!ids = tensor<?x2xi32>
!y = tensor<?x160xf32>
func.func @gather(%x: !x) -> !wx {{
{quantize}  %we = mx.all_gather @ep ins(%q#0 : !e) outs(%we0 : !we) -> !we
  %ws = mx.all_gather @ep ins(%q#1 : !s) outs(%ws0 : !ws) -> !ws
  %x0 = tensor.empty() : !wx
  %d = mx.dequantize ins(%we, %ws : !we, !ws) outs(%x0 : !wx) -> !wx
  return %d : !wx
}}
func.func @collect(%ids: !ids, %z: !x, %slots: tensor<?xi32>) -> !y {{
  %c0 = arith.constant 0 : index
  %t = tensor.dim %ids, %c0 : !ids
  %y0 = tensor.empty(%t) : !y
  %y = mx.collect @ep experts = 12 wire = bf16 ids(%ids : !ids) ins(%z : !x) slots(%slots : tensor<?xi32>)
      outs(%y0 : !y) -> !y
  return %y : !y
}}
func.func @layer(%x: !x, %ids: !ids, %z: !x, %slots: tensor<?xi32>) -> (!wx, !y) {{
{quantize}  %wi0 = mx.window @ep : !wi
  %w:3 = mx.dispatch @ep experts = 12 ids(%ids : !ids) ins(%q#0, %q#1 : !e, !s)
      outs(%wi0, %we0, %ws0 : !wi, !we, !ws) -> !wi, !we, !ws
  %x0 = tensor.empty() : !wx
  %d = mx.dequantize ins(%w#1, %w#2 : !we, !ws) outs(%x0 : !wx) -> !wx
  %y = func.call @collect(%ids, %z, %slots) : (!ids, !x, tensor<?xi32>) -> !y
  return %d, %y : !wx, !y
}}
"""
# Arguments, results, and barriers of the program in a call
ENTRIES = {"gather": (["x"], ["window"], 2), "collect": (["ids", "z", "slots"], ["y"], 2),
           "layer": (["x", "ids", "z", "slots"], ["window", "y"], 4)}


class Device:
    """Translates the steps of a rank to launches of a launch file, without barrier `dropped` of each call."""

    def __init__(self, manifest, entry, rank, ranks, arguments, dropped):
        self.kernels = {kernel["name"]: kernel for kernel in manifest["kernels"]}
        self.entry, self.rank, self.ranks, self.dropped = entry, rank, ranks, dropped
        self.shapes = [array.shape for array in arguments.values()]
        self.values, self.chosen, self.launches, self.epoch = {}, {}, [], 0
        for i, (operator, *operands) in enumerate(entry["values"]):
            numbers = [self.number(n) for n in operands if not str(n).endswith(": ")]  # without the location
            self.values[f"v{i}"] = int(OPERATORS[operator](*numbers))
        memory = max(window["offset"] + window["bytes"] for window in entry["windows"])
        self.buffers = {"windows": {"bytes": memory, "window": True}, "addresses": self.table("windows", 0),
                        "flags": {"bytes": ranks * LINE, "fill": "zero", "window": True},
                        "signals": self.table("flags", rank * LINE), "peers": {"bytes": 8 * ranks},
                        "work": {"bytes": max(self.number(entry["workspace"]), 4), "align": 256}}
        self.buffers.update({f"arg{i}": {"file": f"{name}-{rank}.npy"} for i, name in enumerate(arguments)})
        self.outputs = {}
        for i, result in enumerate(entry["results"]):
            self.buffers[f"result{i}"] = {"bytes": 4 * int(np.prod([self.number(n) for n in result["shape"]]))}
            self.outputs[f"result{i}"] = f"result{i}-{rank}.npy"
        self.launch("distances", 1, ranks, [{"buffer": "addresses"}, {"buffer": "peers"}, {"buffer": "windows"}])
        for _ in range(2):
            self.barriers = 0
            self.run(entry["steps"])

    def table(self, buffer, offset):
        """Returns a table of addresses on all devices."""
        return {"bytes": 8 * self.ranks, "patch": [
            {"offset": 8 * d, "buffer": buffer, "device": d, "buffer_offset": offset} for d in range(self.ranks)]}

    def number(self, n):
        if isinstance(n, int) or n in self.values:
            return self.values.get(n, n)
        if found := re.fullmatch(r"arg(\d+)\[(\d+)\]", n):
            return self.shapes[int(found[1])][int(found[2])]
        return {"group0.rank": self.rank, "group0.peers": 1, "sm_count": 148}[n]

    def place(self, buffer, offset=0):
        """Returns the buffer of the launch file and the offset of a buffer of the manifest."""
        buffer, offset = self.chosen.get(buffer, buffer), self.number(offset)
        for kind, table, memory in (("win", "windows", "windows"), ("work", "buffers", "work")):
            if buffer.startswith(kind):
                return memory, offset + self.number(self.entry[table][int(buffer[len(kind):])]["offset"])
        return buffer, offset

    def argument(self, argument):
        if "buffer" in argument:
            return dict(zip(("buffer", "offset"), self.place(argument["buffer"], argument.get("offset", 0))))
        (kind, n), = argument.items()
        return {"buffer": "peers"} if n == "group0.peers" else {kind: self.number(n)}

    def launch(self, kernel, grid, block, arguments):
        if grid:
            self.launches.append({"kernel": kernel, "grid": [grid], "block": [block], "args": arguments})

    def barrier(self):
        self.epoch += 1
        self.launch("barrier", 1, self.ranks, [{"buffer": "signals"}, {"buffer": "flags"}, {"u32": self.epoch}])

    def run(self, steps):
        for step in steps:
            bytes = self.number(step.get("bytes", 0))
            if "launch" in step:
                self.launch(step["launch"], self.number(step["grid"][0]), self.kernels[step["launch"]]["block"][0],
                            [self.argument(argument) for argument in step["args"]])
            elif "if" in step:
                block = step["then" if self.number(step["if"]) else "else"]
                self.run(block["steps"])
                self.chosen.update(zip(step["results"], block["yields"]))
            elif "barrier" in step:
                if self.barriers != self.dropped:
                    self.barrier()
                self.barriers += 1
            elif "all_gather" in step:
                buffer, offset = self.place(step["all_gather"], self.rank * bytes)
                self.barrier()
                self.launch("push", self.ranks, 32, [{"buffer": buffer, "offset": offset}, {"buffer": "peers"},
                                                     {"u32": bytes // 4}])
                self.barrier()
            elif "memset" in step:
                buffer, offset = self.place(step["memset"])
                self.launches.append({"memset": {"buffer": buffer, "offset": offset, "byte": step["byte"],
                                                 "bytes": bytes}})
            elif "wait" not in step:  # collectives end at once here
                (source, start), (target, offset) = (self.place(step["copy"]),
                                                     self.place(step["to"], step.get("offset", 0)))
                self.launches.append({"copy": {"from": source, "from_offset": start, "to": target, "to_offset": offset,
                                               "bytes": bytes}})


def simulate(program, entry, drawn, seed, dropped=None, kernels=KERNELS):
    """Returns the messages of the simulator, and the number of the program's barriers in a call."""
    manifest = json.loads(pathlib.Path(program, "manifest.json").read_text())
    plan = next(e for e in manifest["entries"] if e["name"] == entry)
    devices = [Device(manifest, plan, rank, len(drawn), {name: own[name] for name in ENTRIES[entry][0]}, dropped)
               for rank, own in enumerate(drawn)]
    pathlib.Path("runtime.ptx").write_text(kernels)
    pathlib.Path("launch.json").write_text(json.dumps({"devices": [
        {"buffers": d.buffers, "launches": d.launches, "outputs": d.outputs} for d in devices],
        "modules": ["runtime.ptx"]}))
    done = subprocess.run([MX_SIM, f"{program}/kernels.ptx", "launch.json", f"--seed={seed}"],
                          capture_output=True, text=True)
    assert done.returncode == 0 or "race" in done.stderr, done.stderr
    return done.stderr if done.returncode else "", devices[0].barriers


def draw(random, ranks):
    """Draws the arguments of each rank: tokens, their experts, and a row for each pair of a token and an own expert."""
    def normal(rows):
        return random.standard_normal((rows, COLUMNS)).astype(BF16)

    counts = [TOKENS, *random.integers(0, TOKENS + 1, ranks - 1)]
    ids = [np.array([random.permutation(EXPERTS)[:2] for _ in range(n)], np.int32).reshape(n, 2) for n in counts]
    own = EXPERTS // ranks
    slots = [np.array([(s * TOKENS + t) * 2 + j for s in range(ranks) for (t, j), expert in np.ndenumerate(ids[s])
                       if expert // own == d] or [-1], np.int32) for d in range(ranks)]
    return [dict(x=normal(n), ids=own_ids, z=normal(len(pairs)), slots=pairs)
            for n, own_ids, pairs in zip(counts, ids, slots)]


def compare(file, entry, drawn):
    """Compares the results of the simulation with the reference path."""
    arguments, names, _ = ENTRIES[entry]
    subprocess.run([MX_RUN, file, "--device=cpu", f"--ranks={len(drawn)}", f"--entry={entry}", "--quiet",
                    *(f"--arg={name}-{{rank}}.npy" for name in arguments),
                    *(f"--result={name}-{{rank}}.npy" for name in names)], check=True)
    rows = np.concatenate([s * TOKENS + np.arange(len(own["ids"])) for s, own in enumerate(drawn)])
    for rank in range(len(drawn)):
        for i, name in enumerate(names):
            expected = np.load(f"{name}-{rank}.npy")
            found = np.load(f"result{i}-{rank}.npy").view(expected.dtype)[:expected.size].reshape(expected.shape)
            if name == "window":
                found, expected = found[rows], expected[rows]
            assert found.tobytes() == expected.tobytes(), (entry, rank, name)


for ranks in (2, 3, 4):
    file, program = f"ranks{ranks}.mlir", f"program{ranks}"
    pathlib.Path(file).write_text(PROGRAM.format(ranks=ranks, window=ranks * TOKENS, quantize=QUANTIZE))
    subprocess.run([MX_COMPILE, file, "-o", program, f"--chip={CHIP}", "--ptxas=none", "--quiet", "--peer-stores"],
                   check=True)
    drawn = draw(np.random.default_rng(ranks), ranks)
    for rank, own in enumerate(drawn):
        for name, array in own.items():
            np.save(f"{name}-{rank}.npy", stored(array))
    for (entry, (_, _, barriers)), seed in itertools.product(ENTRIES.items(), range(6)):
        text, found = simulate(program, entry, drawn, seed)
        assert not text and found == barriers, (entry, found, text)
        compare(file, entry, drawn)
        if entry == "layer" or ranks == 4:
            continue
        for dropped in range(barriers):
            text, _ = simulate(program, entry, drawn, seed, dropped)
            assert "of buffer 'windows'" in text, (entry, dropped, text)
        for name in ("st.release.sys", "ld.acquire.sys"):
            text, _ = simulate(program, entry, drawn, seed, kernels=KERNELS.replace(name, name.replace("sys", "gpu")))
            assert "has a narrower scope than .sys" in text, (entry, name, text)
    print(f"{ranks} ranks: equal")
