"""Tests mx.dispatch, mx.collect and mx.collect_pairs on 2 to 64 ranks, which are threads of mx-run. Every byte that
docs/reference/Spec.md specifies equals NumPy's, on the reference path and on a simulated device. Cases cover all
expert counts, choice counts, id types, wire types and payloads, ranks without tokens, capacities that are too small,
and windows with fewer slots than tokens.

RUN: env MX_CUDA_DRIVER=none %python %s mx-run %t
REQUIRES: compiler, numpy
"""

import numpy as np
from harness import BF16, FLOATS, Harness

test = Harness("mx_run", "folder", seed=1)
random = test.rng
PATHS = "cpu", "sm_90a"

PROGRAM = """
mx.group @ep size = {ranks} tokens = {tokens}{slots}
!ids = tensor<?x{k}x{integer}>
!wi = tensor<{window}x{k}x{integer}>
!list = tensor<?xi32>
!ends = tensor<{own}xi32>
func.func @main(%ids: !ids, %x: tensor<?x{columns}x{payload}>, %f: tensor<?x{pairs}xf4E2M1FN>, %z: tensor<?x{columns}x{rows}>, %d: tensor<?xf32>)
    -> (!wi, tensor<{window}x{columns}x{payload}>, tensor<{window}x{pairs}xf4E2M1FN>, !list, !list, !ends, tensor<i32>,
        tensor<?x{columns}x{sums}>, tensor<?x{k}xf32>, index, tensor<i32>) {{
  %c0 = arith.constant 0 : index
  %own = arith.constant {own} : index
  %t = tensor.dim %ids, %c0 : !ids
  %p = tensor.dim %z, %c0 : tensor<?x{columns}x{rows}>
  %wi = mx.window @ep : !wi
  %wx = mx.window @ep : tensor<{window}x{columns}x{payload}>
  %wf = mx.window @ep : tensor<{window}x{pairs}xf4E2M1FN>
  %n = tensor.empty() : tensor<i32>
  %w:4 = mx.dispatch @ep experts = {experts} ids(%ids : !ids)
      ins(%x, %f : tensor<?x{columns}x{payload}>, tensor<?x{pairs}xf4E2M1FN>)
      outs(%wi, %wx, %wf, %n : !wi, tensor<{window}x{columns}x{payload}>, tensor<{window}x{pairs}xf4E2M1FN>, tensor<i32>)
      -> !wi, tensor<{window}x{columns}x{payload}>, tensor<{window}x{pairs}xf4E2M1FN>, tensor<i32>
  %rank = mx.rank @ep
  %first = arith.muli %rank, %own : index
  %r = tensor.empty(%p) : !list
  %s = tensor.empty(%p) : !list
  %e = tensor.empty() : !ends
  %c = tensor.empty() : tensor<i32>
  %g:4 = mx.group_rows ins(%w#0 : !wi) first(%first) outs(%r, %s, %e, %c : !list, !list, !ends, tensor<i32>)
      -> !list, !list, !ends, tensor<i32>
  %y0 = tensor.empty(%t) : tensor<?x{columns}x{sums}>
  %y = mx.collect @ep experts = {experts} wire = {wire} ids(%ids : !ids) ins(%z : tensor<?x{columns}x{rows}>)
      slots(%g#1 : !list) outs(%y0 : tensor<?x{columns}x{sums}>) -> tensor<?x{columns}x{sums}>
  %q0 = tensor.empty(%t) : tensor<?x{k}xf32>
  %q = mx.collect_pairs @ep experts = {experts} ids(%ids : !ids) ins(%d : tensor<?xf32>)
      slots(%g#1 : !list) outs(%q0 : tensor<?x{k}xf32>) -> tensor<?x{k}xf32>
  return %w#0, %w#1, %w#2, %g#0, %g#1, %g#2, %g#3, %y, %q, %rank, %w#3
      : !wi, tensor<{window}x{columns}x{payload}>, tensor<{window}x{pairs}xf4E2M1FN>, !list, !list, !ends, tensor<i32>,
        tensor<?x{columns}x{sums}>, tensor<?x{k}xf32>, index, tensor<i32>
}}
"""
RESULTS = ["wi", "wx", "wf", "rows", "slots", "ends", "count", "y", "q", "rank", "needed"]


class Case:
    def __init__(self, ranks, tokens, own, k, integer="i32", columns=64, payload="bf16", rows="bf16", wire="bf16",
                 sums="f32", counts=None, room=1.0, slots=None):
        self.ranks, self.tokens, self.own, self.k, self.columns = ranks, tokens, own, k, columns
        self.integer, self.payload, self.rows_type, self.wire, self.room = integer, payload, rows, wire, room
        self.sums = sums
        self.slots, self.segment, self.experts = slots, slots or tokens, own * ranks
        self.counts = counts or [int(n) for n in random.integers(0, tokens + 1, ranks)]

    def __str__(self):
        return (f"{self.ranks} ranks of {self.counts} tokens, top {self.k} of {self.experts}, {self.integer}, "
                f"{self.payload} x {self.columns}, {self.rows_type} by {self.wire} to {self.sums}, room {self.room}, "
                f"{self.slots} slots on {self.path}")

    def values(self, name, shape):
        x = random.standard_normal(shape).astype(np.float32)
        x[random.random(shape) < 0.1] = -0.0
        return random.integers(0, 127, shape, np.uint8) if name == "f8E4M3FN" else x.astype(FLOATS[name])

    def draw(self, path):
        self.path = path
        limits = np.iinfo(self.integer.replace("i", "int"))
        self.ids = []
        for count in self.counts:
            ids = random.integers(0, self.experts, (count, self.k))
            odd = random.random(ids.shape)
            ids[odd < 0.2] = -1
            ids[odd > 0.95] = random.choice([limits.min, limits.max, self.experts])
            self.ids.append(ids.astype(limits.dtype))
        # The tokens that rank s sends to rank d, in order, and the place of each in the segment of s
        owners = [[sorted({int(e) // self.own for e in row if 0 <= e < self.experts}) for row in ids]
                  for ids in self.ids]
        self.sent = [[[t for t, ranks in enumerate(owners[s]) if d in ranks] if self.slots else [*range(len(ids))]
                      for d in range(self.ranks)] for s, ids in enumerate(self.ids)]
        self.place = [{(s, t): s * self.segment + p for s in range(self.ranks)
                       for p, t in enumerate(self.sent[s][d][:self.segment])} for d in range(self.ranks)]
        self.pairs = [sorted((int(e), s, t, j) for s, ids in enumerate(self.ids) for (t, j), e in np.ndenumerate(ids)
                             if 0 <= e < self.experts and e // self.own == d and (s, t) in self.place[d])
                      for d in range(self.ranks)]
        self.places = [int(len(pairs) * self.room) + (1 if self.room == 1 else 0) for pairs in self.pairs]
        self.x = [self.values(self.payload, (count, self.columns)) for count in self.counts]
        self.f = [random.integers(0, 256, (count, self.columns // 2), np.uint8) for count in self.counts]
        self.z = [self.values(self.rows_type, (places, self.columns)) for places in self.places]
        self.d = [random.standard_normal(places).astype(np.float32) for places in self.places]
        return self

    def text(self, program=PROGRAM):
        return program.format(ranks=self.ranks, tokens=self.tokens, k=self.k, integer=self.integer, own=self.own,
                              window=self.ranks * self.segment, columns=self.columns, payload=self.payload,
                              pairs=self.columns, rows=self.rows_type, wire=self.wire, sums=self.sums, experts=self.experts,
                              slots=f" slots = {self.slots}" if self.slots else "")

    def arrays(self):
        return [self.ids, self.x, self.f, self.z, self.d]

    def check(self):
        found = test.run_ranks(self.ranks, self.text(), self.arrays(), len(RESULTS), "--quiet", chip=self.path)
        found = [dict(zip(RESULTS, own, strict=True)) for own in found]

        def compare(name, own, expected):
            test.expect(name, own, expected)

        kept = [pairs[:places] for pairs, places in zip(self.pairs, self.places)]
        sums = [{} for _ in range(self.ranks)]
        numbers = [{} for _ in range(self.ranks)]
        for d, mine in enumerate(found):
            window = np.full((self.ranks * self.segment, self.k), -1, self.ids[0].dtype)
            for (s, t), row in self.place[d].items():
                window[row] = self.ids[s][t]
            compare("ids", mine["wi"], window)
            for e, s, t, j in self.pairs[d]:
                row = self.place[d][s, t]
                compare("payload", mine["wx"][row], self.x[s][t])
                compare("f4", mine["wf"][row], self.f[s][t])
            rest = [-1] * (self.places[d] - len(kept[d]))
            compare("rows", mine["rows"], np.array([self.place[d][s, t] for e, s, t, j in kept[d]] + rest, np.int32))
            compare("slots", mine["slots"],
                    np.array([self.place[d][s, t] * self.k + j for e, s, t, j in kept[d]] + rest, np.int32))
            compare("count", mine["count"], np.array(len(self.pairs[d]), np.int32))
            ends = np.searchsorted([e for e, *_ in self.pairs[d]], np.arange(d * self.own, (d + 1) * self.own), "right")
            compare("ends", mine["ends"], np.minimum(ends, self.places[d]).astype(np.int32))
            compare("rank", mine["rank"], np.array(d, np.int64))
            compare("needed", mine["needed"],
                    np.array(max(map(len, self.sent[d])) if self.slots else 0, np.int32))
            for p, (e, s, t, j) in enumerate(kept[d]):
                term = self.z[d][p].astype(np.float32)
                sums[d][s, t] = sums[d][s, t] + term if (s, t) in sums[d] else term
                numbers[d][s, t, j] = self.d[d][p]
        for s, mine in enumerate(found):
            owners = [sorted({int(e) // self.own for e in row if 0 <= e < self.experts}) for row in self.ids[s]]
            for t, ranks in enumerate(owners):
                if not all((s, t) in sums[d] for d in ranks):
                    continue  # some rank has no room for the token
                total = np.zeros(self.columns, np.float32)
                for d in ranks:
                    partial = sums[d][s, t]
                    total = total + (partial.astype(BF16).astype(np.float32) if self.wire == "bf16" else partial)
                compare("y", mine["y"][t], total.astype(FLOATS[self.sums]))
                for j, e in enumerate(self.ids[s][t]):
                    if not 0 <= e < self.experts:
                        compare("q", mine["q"][t, j], np.float32(0))
                    elif (s, t, j) in numbers[int(e) // self.own]:
                        compare("q", mine["q"][t, j], numbers[int(e) // self.own][s, t, j])


cases = [Case(2, 16, 4, 2, counts=[16, 5]), Case(3, 9, 1, 1, "i64", 68, "f8E4M3FN", "f32", "f32"),
         Case(4, 20, 2, 8, payload="f32", rows="f16", columns=1024), Case(5, 7, 3, 3, sums="bf16", counts=[0, 7, 0, 1, 3]),
         Case(2, 8, 2, 2, counts=[0, 0]), Case(2, 32, 4, 4, counts=[32, 30], room=0.8),
         Case(2, 16, 4, 2, counts=[16, 5], slots=16), Case(5, 20, 2, 3, "i64", counts=[20, 0, 7, 1, 19], slots=12),
         Case(4, 30, 1, 2, columns=96, payload="f8E4M3FN", counts=[30, 30, 0, 11], slots=20),
         Case(3, 24, 2, 8, rows="f32", wire="f32", payload="f32", sums="bf16", columns=36, counts=[24, 24, 9],
              slots=17),
         Case(64, 12, 1, 2, columns=32, slots=3)]
for case in test.select(case.draw(path) for case in cases for path in PATHS):
    case.check()

# Windows contain elements of every size, in memory order.
WINDOW = """
mx.group @ep size = 3 tokens = 4{slots}
func.func @main(%ids: tensor<?x1xi32>, %x: tensor<?x{shape}x{type}>) -> tensor<12x{shape}x{type}> {{
  %wi = mx.window @ep : tensor<12x1xi32>
  %wx = mx.window @ep : tensor<12x{shape}x{type}>
  %w:2 = mx.dispatch @ep experts = 3 ids(%ids : tensor<?x1xi32>) ins(%x : tensor<?x{shape}x{type}>)
      outs(%wi, %wx : tensor<12x1xi32>, tensor<12x{shape}x{type}>) -> tensor<12x1xi32>, tensor<12x{shape}x{type}>
  return %w#1 : tensor<12x{shape}x{type}>
}}
"""
counts = 4, 2, 3
for kind, dtype, shape in [("i1", "?", "5"), ("f6E3M2FN", "u1", "3"), ("i8", "i1", "7"), ("f64", "f8", "3"),
                           ("index", "i8", "2"), ("i64", "i8", "2x3"), ("f4E2M1FN", "u1", "6"), ("f16", "f2", "5x1")]:
    for path in PATHS:
        extents = [int(extent) for extent in shape.split("x")]
        if kind == "f4E2M1FN":
            extents[-1] //= 2
        sent = [random.integers(0, 2 if kind == "i1" else 60, (count, *extents)).astype(dtype) for count in counts]
        arrays = [[np.ones((len(array), 1), np.int32) for array in sent], sent]
        for slots in "", " slots = 4":
            text = WINDOW.format(shape=shape, type=kind, slots=slots)
            _, (window,), _ = test.run_ranks(3, text, arrays, 1, "--quiet", chip=path)
            for rank, array in enumerate(sent):
                test.expect(f"{kind} x {shape}{slots} on {path}", window.reshape(3, 4, *extents)[rank, :len(array)], array)


def refuse(message, change, program=PROGRAM, results=len(RESULTS)):
    """Checks that both paths refuse the same violation by one rank with the same message."""
    case = Case(2, 16, 4, 2, counts=[16, 5])
    case.draw(None)
    change(case)
    for path in PATHS:
        test.refuse(message, case.text(program), case.arrays(), results, "--ranks=2", "--quiet", chip=path)


def add_token(case, *names):
    for name in names:
        array = getattr(case, name)
        array[0] = np.concatenate([array[0], array[0][:1]])


refuse("expected at most 16 tokens per rank of group ep", lambda case: add_token(case, "ids", "x", "f"))
refuse("expected equal numbers of rows in payload 1 and ids", lambda case: case.f.__setitem__(0, case.f[0][1:]))
COLLECT = """
mx.group @ep size = {ranks} tokens = 3
func.func @main(%ids: tensor<?x{k}x{integer}>, %x: tensor<?x{columns}x{payload}>, %f: tensor<?x{pairs}xf4E2M1FN>,
                %z: tensor<?x{columns}x{rows}>, %d: tensor<?xf32>) -> tensor<?x{columns}xf32> {{
  %c0 = arith.constant 0 : index
  %t = tensor.dim %x, %c0 : tensor<?x{columns}x{payload}>
  %p = tensor.dim %z, %c0 : tensor<?x{columns}x{rows}>
  %none = arith.constant -1 : i32
  %s = tensor.empty(%p) : tensor<?xi32>
  %slots = linalg.fill ins(%none : i32) outs(%s : tensor<?xi32>) -> tensor<?xi32>
  %y0 = tensor.empty(%t) : tensor<?x{columns}xf32>
  %y = mx.collect @ep experts = {experts} wire = {wire} ids(%ids : tensor<?x{k}x{integer}>)
      ins(%z : tensor<?x{columns}x{rows}>) slots(%slots : tensor<?xi32>)
      outs(%y0 : tensor<?x{columns}xf32>) -> tensor<?x{columns}xf32>
  return %y : tensor<?x{columns}xf32>
}}
"""
refuse("expected at most 3 tokens per rank of group ep", lambda case: None, COLLECT, 1)
refuse("expected equal numbers of rows in outs and ids", lambda case: add_token(case, "ids"),
       COLLECT.replace("tokens = 3", "tokens = 20"), 1)
test.finish(least=100000)
