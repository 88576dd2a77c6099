"""Compares the layer of examples/moe_layer_ranks.mlir on several ranks with the same layer on one rank.

`RankedLayer` writes the program for a given number of ranks, with the results of the second matmul and of the gradient
of X as additional results, runs both passes, and returns the results of each rank. On the reference path, mx-run runs
the ranks. On a device, the program is compiled once, and each rank is a thread of this process. `check` compares the
results with the layer on a single rank with all tokens: rows, operands, matmuls and gradients of weights byte for byte,
and the sums of a token with the order defined in docs/reference/Spec.md, computed in NumPy from the added rows.
"""

import itertools
import re
import subprocess

import mx_reference as ref
import numpy as np
from harness import BF16, stored
from rank_helpers import Exchange
from threads import in_threads

HIDDEN, INNER, EXPERTS, TOKENS = 384, 256, 8, 64
FORWARD = ["z", "y", "rows", "slots", "ends", "count", "probs", "gu", "xte", "xts", "hte", "hts", "needed"]
BACKWARD = ["dz", "dx", "dw1", "dw2", "dweights"]
QUANTIZED = ["w1e", "w1s", "w1te", "w1ts", "w2e", "w2s", "w2te", "w2ts"]


def program_text(example, ranks, choices):
    """Returns the example for other numbers of ranks and choices."""
    own, window = EXPERTS // ranks, ranks * TOKENS
    text = example
    for old, new in ((r"size = 2 tokens = 64", f"size = {ranks} tokens = {TOKENS}"),
                     (r"tensor<128x", f"tensor<{window}x"), (r"tensor<256xf32>", f"tensor<{window * choices}xf32>"),
                     (r"x2x(i32|f32)>", rf"x{choices}x\1>"),
                     (r"groups = 4", f"groups = {own}"), (r"tensor<4x", f"tensor<{own}x"),
                     (r"constant 4 : index", f"constant {own} : index"),
                     (r"constant 635 : index", f"constant {127 * own + 127} : index"),
                     # Terms of the sums.
                     (r"-> \(!sums, !list", "-> (!z, !sums, !list"), (r"return %y,", "return %z, %y,"),
                     (r": !sums, !list", ": !z, !sums, !list"),
                     (r"%r:11 =", "%r:12 ="), (r"%r#10, ", "%r#10, %r#11, "),
                     (r"-> \(!sums, !dw1", "-> (!z, !sums, !dw1"), (r"return %dx,", "return %dxp, %dx,"),
                     (r": !sums, !dw1", ": !z, !sums, !dw1")):
        text, count = re.subn(old, new, text)
        assert count, old
    return text


class RankedLayer:
    """The layer for `tokens` tokens per rank. `mx_run` or `mx_compile` is the path of the tool."""

    def __init__(self, text, ranks):
        self.ranks, self.own = ranks, EXPERTS // ranks
        self.file = f"layer{ranks}.mlir"
        with open(self.file, "w", encoding="utf-8") as file:
            file.write(text)

    def quantize_weights(self, w1, w2):
        """Quantizes the weights of all experts."""
        return self.run("quantize_weights", [[w1, w2]], QUANTIZED)[0]

    def __call__(self, tokens, ids, weights, gradients, quantized, capacity):
        """Runs the layer and returns each rank's results. All arguments but `quantized` are lists with one array per
        rank."""
        def of_rank(name, rank):
            return quantized[name][rank * self.own:(rank + 1) * self.own]

        ranks = range(self.ranks)
        forward = self.run("forward", [[tokens[r], ids[r], weights[r], np.int64(capacity)] + [
            of_rank(name, r) for name in ("w1e", "w1s", "w2e", "w2s")] for r in ranks], FORWARD)
        saved = ("rows", "slots", "ends", "probs", "gu", "xte", "xts", "hte", "hts")
        backward = self.run("backward", [[gradients[r], ids[r]] + [forward[r][name] for name in saved] + [
            of_rank(name, r) for name in ("w1te", "w1ts", "w2te", "w2ts")] for r in ranks], BACKWARD)
        return [{**a, **b} for a, b in zip(forward, backward)]


class ReferenceLayer(RankedLayer):
    def __init__(self, mx_run, text, ranks):
        super().__init__(text, ranks)
        self.command = [mx_run, self.file, "--device=cpu", "--quiet", *[f"--ranks={ranks}"] * (ranks > 1)]

    def run(self, entry, arguments, results):
        """Runs an entry on each rank with its `arguments`. Returns a list of each rank's results."""
        command = [*self.command, f"--entry={entry}"]
        for number in range(len(arguments[0])):
            for rank, own in enumerate(arguments):
                np.save(f"in{number}-{rank}.npy", stored(own[number]))
            command.append(f"--arg=in{number}-{{rank}}.npy")
        names = [f"{entry}-{name}-{{rank}}.npy" for name in results]
        done = subprocess.run([*command, *(f"--result={name}" for name in names)], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return [{key: np.load(name.replace("{rank}", str(rank))) for key, name in zip(results, names)}
                for rank in range(len(arguments))]


class DeviceLayer(RankedLayer):
    """Layer on simulated devices, one per rank. MX_SIM_DEVICES sets their number."""

    def __init__(self, mx_compile, chip, text, ranks):
        super().__init__(text, ranks)
        folder = f"program{ranks}"
        subprocess.run([mx_compile, self.file, "-o", folder, f"--chip={chip}", "--ptxas=none", "--quiet"], check=True)
        import mx_compiler as mx
        self.mx = mx
        exchange = Exchange(ranks, timeout=300)

        def load(rank):
            mx.set_device(f"sim:{rank}")
            program = mx.Program(folder)
            if ranks > 1:
                program.bind("ep", mx.Group(rank, ranks, exchange.of(rank), timeout=300))
            return program

        self.programs = in_threads(load, ranks)

    def run(self, entry, arguments, results):
        def call(rank):
            self.mx.set_device(f"sim:{rank}")
            found = self.programs[rank][entry](*arguments[rank])
            return {name: stored(array) for name, array in zip(results, found)}

        return in_threads(call, len(arguments))


def add_rows(rows, found, ids, ranks, choices):
    """Returns the sums of each rank's tokens. Each rank adds its `rows` and rounds to bf16, and the partial sums are
    added in rank order."""
    sums = []
    for rank, own in enumerate(ids):
        total = np.zeros((len(own), HIDDEN), np.float32)
        for d in range(ranks):
            tokens = found[d]["slots"] // choices - rank * TOKENS
            mine = np.flatnonzero((tokens >= 0) & (tokens < TOKENS) & (found[d]["slots"] >= 0))
            for token in np.unique(tokens[mine]):
                terms = rows[d][mine[tokens[mine] == token]].view(BF16).astype(np.float32)
                partial = terms[0]
                for term in terms[1:]:
                    partial = partial + term
                total[token] = total[token] + partial.astype(BF16).astype(np.float32)
        sums.append(total)
    return sums


def columns_of(ends):
    """Returns start and width of each group's columns in a ragged reduction."""
    begin = place = 0
    for end in ends:
        yield place, int(end) - begin
        place += -(-(int(end) - begin) // 128) * 128
        begin = int(end)


def scale_bytes(scales, columns, first):
    """Returns a group's scales, read from tiles, as [rows, blocks]. The group's columns begin at a multiple of 128."""
    return ref.untile(scales, scales.shape[0] * 128, -(-(first + columns) // 32))[:, first // 32:]


def check(ids, found, alone, choices):
    """Returns the differences between the ranks and the same layer on one rank, keyed by name."""
    ranks = len(found)
    counts = [len(own) for own in ids]
    place = np.concatenate([rank * TOKENS + np.arange(count) for rank, count in enumerate(counts)]).astype(int)
    wrong = {}

    def compare(name, a, b):
        a, b = np.ascontiguousarray(a), np.ascontiguousarray(b)
        same = a.shape == b.shape and a.tobytes() == b.tobytes()
        if not same:
            wrong[name] = wrong.get(name, 0) + 1

    ends = [0, *alone["ends"]]
    own = EXPERTS // ranks
    for rank, mine in enumerate(found):
        first, last = ends[rank * own], ends[(rank + 1) * own]
        part, count = slice(first, last), last - first
        compare("count", mine["count"], np.array(count, np.int32))
        compare("ends", mine["ends"], alone["ends"][rank * own:(rank + 1) * own] - np.int32(first))
        compare("rows", mine["rows"][:count], place[alone["rows"][part]].astype(np.int32))
        compare("rest", mine["rows"][count:], np.full(len(mine["rows"]) - count, -1, np.int32))
        for name in ("probs", "gu", "z", "dz"):
            compare(name, mine[name][:count], alone[name][part])
        whole = list(columns_of(alone["ends"]))[rank * own:(rank + 1) * own]
        for (at, columns), (at_alone, _) in zip(columns_of(mine["ends"]), whole):
            for name in ("xte", "hte"):
                compare(name, mine[name][:, at:at + columns], alone[name][:, at_alone:at_alone + columns])
            for name in ("xts", "hts"):
                compare(name, scale_bytes(mine[name], columns, at), scale_bytes(alone[name], columns, at_alone))
        for name in ("dw1", "dw2"):
            compare(name, mine[name], alone[name][rank * own:(rank + 1) * own])
    compare("dweights", np.concatenate([mine["dweights"] for mine in found]), alone["dweights"])
    for name, rows in (("y", "z"), ("dx", "dz")):
        want = add_rows([mine[rows] for mine in found], found, ids, ranks, choices)
        for mine, sums in zip(found, want):
            compare(name, mine[name], sums)
    return wrong


def draw_ids(random, kind, ranks, choices):
    """Draws ids of each rank, for a kind of routing."""
    counts = random.integers(1, TOKENS + 1, ranks)
    if kind == "no tokens":
        counts[:] = 0
    elif kind == "a rank without tokens":
        counts[random.integers(ranks)] = 0
    elif kind == "full":
        counts[:] = TOKENS
    ids = [np.array([random.permutation(EXPERTS)[:choices] for _ in range(count)], np.int32).reshape(count, choices)
           for count in counts]
    own = EXPERTS // ranks
    for mine in ids:
        if kind == "one rank":
            mine[:] = random.integers(own, size=mine.shape)
        elif kind == "one expert":
            mine[:] = EXPERTS - 1
        elif kind == "none":
            mine[:] = -1
        elif kind == "some":
            mine[random.random(mine.shape) < 0.4] = -1
            mine[random.random(mine.shape) < 0.1] = EXPERTS
        elif kind == "uneven":
            mine[:] = np.minimum(random.geometric(0.4, mine.shape) - 1, EXPERTS - 1)
    return ids


KINDS = ["uniform", "some", "one rank", "full", "a rank without tokens", "no tokens", "one expert", "uneven", "none"]


def draw(random, kind, ranks, choices):
    ids = draw_ids(random, kind, ranks, choices)

    def normal(*shape, deviation=1.0):
        return (random.standard_normal(shape) * deviation).astype(BF16)

    return (ids, [normal(len(own), HIDDEN) for own in ids],
            [random.random(own.shape, np.float32) for own in ids], [normal(len(own), HIDDEN) for own in ids])


def make_weights(random):
    return ((random.standard_normal((EXPERTS, 2 * INNER, HIDDEN)) * HIDDEN**-0.5).astype(BF16),
            (random.standard_normal((EXPERTS, HIDDEN, INNER)) * INNER**-0.5).astype(BF16))


def one_rank_text(example, ranks, choices):
    """Returns the program of a single rank with all tokens."""
    text, rows = program_text(example, 1, choices), ranks * TOKENS
    for old, new in ((f"tokens = {TOKENS}", f"tokens = {rows}"), (f"tensor<{TOKENS}x", f"tensor<{rows}x"),
                     (f"tensor<{TOKENS * choices}xf32>", f"tensor<{rows * choices}xf32>")):
        assert old in text, old
        text = text.replace(old, new)
    return text


def run_all(make, example, ranks, choices, kinds, seed):
    """Prints the comparisons and returns the number of failures. `make` creates a layer from a text and a rank
    count."""
    random = np.random.default_rng(seed)
    one, several = make(one_rank_text(example, ranks, choices), 1), make(program_text(example, ranks, choices), ranks)
    quantized = one.quantize_weights(*make_weights(random))
    failures = 0
    for kind in itertools.islice(itertools.cycle(KINDS), kinds):
        ids, x, weights, dy = draw(random, kind, ranks, choices)
        pairs = sum(int(((own >= 0) & (own < EXPERTS)).sum()) for own in ids)
        together = [np.concatenate(part) for part in (x, ids, weights, dy)]
        alone, = one(*([part] for part in together), quantized, max(pairs, 1))
        capacity = max(pairs, 1) + int(random.integers(2))
        wrong = check(ids, several(x, ids, weights, dy, quantized, capacity), alone, choices)
        failures += bool(wrong)
        print(f"{ranks} ranks, top {choices}, {kind}, {sum(map(len, ids))} tokens, {pairs} rows: {wrong or 'equal'}")
    return failures
