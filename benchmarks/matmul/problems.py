# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Operands of a case in the forms of all implementations, and comparisons of results.

The last set of operands is for the bitwise comparison with cuBLAS: its values are small
integers, so sums are equal in every order."""

import cases
import implementations
import operands
import torch
from operands import Operand

L2_BYTES = 60 << 20
CUBLAS, NORMAL = "cuBLAS bf16", "cuBLAS bf16, normal values"
GROUPED, GROUPED_NORMAL = "torch grouped bf16", "torch grouped bf16, normal values"
ROWS_COMPARED = 64
# Error of a row of a matmul of MXFP8 by norm, with a margin of two.
MOST_ERROR = 0.08


def bound_exact(wide, high, k):
    """Returns the error bound of docs/reference/Spec.md, Matmuls of dequantized operands."""
    return 4 * -(-k // 64) * 5 * 2.0**-23 * (wide.abs() @ high.abs().t())


def bound_promoted(wide, high, promote):
    """Returns the error bound of docs/reference/Spec.md, Folded operands."""
    of_sum = promote // 32 * 34 * 2.0**-13
    bound = promoted = 0
    for begin in range(0, wide.shape[1], promote):
        largest = added = torch.zeros(len(wide), len(high), dtype=wide.dtype, device=wide.device)
        for first in range(begin, min(begin + promote, wide.shape[1]), 32):
            x, y = wide[:, first:first + 32], high[:, first:first + 32]
            added = added + x @ y.t()
            largest = largest.maximum((x[:, None] * y).abs().amax(-1)).maximum(added.abs())
        promoted = promoted + added
        # Partial sums exceed exact ones by at most their bound.
        bound = bound + largest * of_sum / (1 - of_sum)
        bound = bound + (promoted.abs() + bound) * 2.0**-24
    return bound


def count_wrong(found, wide, high, k, promote=0):
    """Counts elements outside the error bound, for some rows in float64."""
    exact = wide @ high.t()
    bound = bound_promoted(wide, high, promote) if promote else bound_exact(wide, high, k)
    bound += (exact.abs() + bound) * 2.0**-8  # rounding to bf16
    return int((~((found.double() - exact).abs() <= bound)).sum())


def quantize_folded(x, block):
    """Returns bf16 values rounded to FP8 with a power-of-two scale per block, as mx.quantize
    rounds them. The values are exact in f32."""
    blocks = x.float().view(len(x), -1, block)
    ratio = blocks.abs().amax(-1, keepdim=True) * torch.tensor(1 / 448, device=x.device)
    mantissa, exponent = torch.frexp(ratio)
    factor = torch.exp2((exponent - (mantissa == 0.5).int()).float())
    return ((blocks / factor).to(torch.float8_e4m3fn).float() * factor).view_as(x)


def count_far(found, peer):
    """Counts elements that differ from the baseline by more than one rounding error of the
    largest element."""
    wrong, largest = 0, peer.abs().amax().float() * 2.0**-7
    for a, b in zip(found.flatten(0, -2).split(8192), peer.flatten(0, -2).split(8192)):
        wrong += int((~((a.float() - b.float()).abs() <= largest)).sum())
    return wrong


class Matmul:
    """Dense matmul of M x K by N x K."""

    def __init__(self, case):
        self.case, self.out_shape = case, (case.m, case.n)
        count = max(2, -(-2 * L2_BYTES // ((case.m + case.n) * case.k)))
        if case.few_rows:  # based on the implementation with fewer weight bytes
            bits = 4 if case.b == "f4E2M1FN" else 8
            count = -(-(1 << 30) // (case.n * case.k * bits // 8 * max(1, case.groups)))
        self.ends = cases.group_ends(case.m, case.groups, case.load) if case.groups else None
        self.sets = [self.make(case.values) for _ in range(count)] + [self.make("exact")]

    def make(self, kind):
        case = self.case
        squares = 1, 128 if case.squares else 1
        return [Operand(element, case.scale, rows, case.k, kind, block=block, square=square)
                for element, rows, block, square in zip((case.a, case.b), (case.m, case.n),
                                                        case.blocks, squares)]

    def arguments(self, program):
        """Yields the arguments of mx for each set."""
        factors = [torch.ones(self.case.n, device="cuda")] if program.case.expands else []
        for a, b in self.sets:
            elements = program.pack(b.elements) if program.case.packed else b.elements
            yield [t for t in (a.elements, a.scales, elements, b.scales, *self.offsets(), *factors)
                   if t is not None]

    def offsets(self):
        return []

    def peers(self):
        case, pairs = self.case, [(a.values, b.values) for a, b in self.sets[:-1]]
        found = [implementations.Matmul(CUBLAS, pairs, self.out_shape)]
        if "normal" in case.peers:
            normal = [[torch.randn_like(t) for t in pair] for pair in pairs]
            found.append(implementations.Matmul(NORMAL, normal, self.out_shape))
        if "fp8" in case.peers:
            found.append(implementations.RowWise(pairs, self.out_shape))
        return found

    def equal_peers(self):
        """Returns baselines with the operands of mx, and prints the reason if they refuse the case."""
        if self.case.groups or not self.case.squares:
            return []
        try:
            return [implementations.BlockWise(self.sets)]
        except (RuntimeError, ValueError) as error:
            print(f"{self.case.name}: {implementations.BlockWise.name}: {error}")
            return []

    def brief_peers(self):
        """Returns baselines measured only in a burst, because they are much slower."""
        if "triton" not in self.case.peers:
            return []
        import triton_peer
        # Linear scales; their values do not affect the time.
        scales = [[torch.full((len(t.elements), self.case.k // 32), 127, dtype=torch.uint8,
                              device="cuda") for t in pair] for pair in self.sets[:2]]
        sets = [(a.elements.view(torch.float8_e4m3fn), sa, b.elements.view(torch.float8_e4m3fn), sb)
                for (a, b), (sa, sb) in zip(self.sets, scales)]
        return [triton_peer.DotScaled(sets, self.out_shape, tile) for tile in triton_peer.TILES]

    def reference(self, index):
        a, b = self.sets[index]
        return torch.mm(a.values, b.values.t())

    def parts(self, index):
        """Yields the numbers and values of some rows of A, and the values of their B."""
        a, b = self.sets[index]
        rows = torch.linspace(0, self.case.m - 1, ROWS_COMPARED, device="cuda").long()
        yield rows, a.values[rows], b.values

    def rows_wrong(self, out, index, case):
        wrong = 0
        for rows, x, y in self.parts(index):
            x = quantize_folded(x, case.promote) if case.expands else x
            wrong += count_wrong(out[rows], x.double(), y.double(), case.k, case.promote)
        return wrong

    def error(self, implementation):
        """Returns the error of some rows of a result, by norm."""
        implementation.launch(0)
        squares = torch.zeros(2, dtype=torch.float64, device="cuda")
        for rows, x, y in self.parts(0):
            exact = x.double() @ y.double().t()
            squares += torch.stack([(implementation.out[rows] - exact).square().sum(), exact.square().sum()])
        return float((squares[0] / squares[1]).sqrt())

    def defined(self, out):
        return out

    def wrong(self, implementation):
        """Counts errors: one set must be within the bound in some rows and close to the
        baseline everywhere; the last set must be bitwise equal."""
        implementation.out.fill_(float("nan"))
        implementation.launch(0)
        case = getattr(implementation, "case", self.case)
        wrong = self.rows_wrong(implementation.out, 0, case)
        if not case.expands:  # the baseline does not quantize A
            wrong += count_far(self.defined(implementation.out), self.reference(0))
        implementation.out.fill_(float("nan"))
        implementation.launch(implementation.count)
        reference = self.reference(implementation.count)
        wrong += int((self.defined(implementation.out) != reference).sum())
        torch.cuda.synchronize()
        return wrong


class GroupedRows(Matmul):
    """Groups of rows of M x K, each multiplied by its own N x K."""

    def make(self, kind):
        case = self.case
        if not hasattr(self, "ends_on_device"):
            self.ends_on_device = torch.tensor(self.ends, dtype=torch.int32, device="cuda")
        of_a, of_b = case.blocks
        return [Operand(case.a, case.scale, case.m, case.k, kind, ends=self.ends, block=of_a),
                Operand(case.b, case.scale, case.groups * case.n, case.k, kind,
                        matrices=case.groups, block=of_b, square=128 if case.squares else 1)]

    def offsets(self):
        return [self.ends_on_device]

    def weights(self, b):
        return b.view(self.case.groups, self.case.n, self.case.k).transpose(1, 2)

    def peers(self):
        pairs = [(a.values, self.weights(b.values)) for a, b in self.sets[:-1]]
        found = [implementations.GroupedMatmul(GROUPED, pairs, self.ends_on_device)]
        if "normal" in self.case.peers:
            a, b = self.sets[0]
            pair = torch.randn_like(a.values), self.weights(torch.randn_like(b.values))
            found.append(implementations.GroupedMatmul(GROUPED_NORMAL, [pair], self.ends_on_device))
        return found

    def reference(self, index):
        a, b = self.sets[index]
        return implementations.grouped_mm(a.values, self.weights(b.values), self.ends_on_device)

    def parts(self, index):
        a, b = self.sets[index]
        per_group = max(2, ROWS_COMPARED // self.case.groups)
        for group, (begin, end) in enumerate(zip([0, *self.ends], self.ends)):
            if begin != end:
                rows = torch.linspace(begin, end - 1, per_group, device="cuda").long()
                yield rows, a.values[rows], b.values[group * self.case.n:(group + 1) * self.case.n]


class Gradient(Matmul):
    """Gradient of weights. Each group of the reduction multiplies N x m by K x m, where m is
    the group's part of M."""

    def __init__(self, case):
        self.starts = operands.segments(cases.group_ends(case.m, case.groups, case.load))
        self.valid = torch.zeros(case.capacity, dtype=torch.bool, device="cuda")
        ends = cases.group_ends(case.m, case.groups, case.load)
        for first, begin, end in zip(self.starts, [0, *ends], ends):
            self.valid[first:first + end - begin] = True
        self.ends_on_device = torch.tensor(ends, dtype=torch.int32, device="cuda")
        super().__init__(case)
        self.out_shape = (case.groups, case.n, case.k)

    def make(self, kind):
        case = self.case
        return [Operand(element, case.scale, rows, case.capacity, kind, valid=self.valid,
                        block=block)
                for element, rows, block in zip((case.a, case.b), (case.n, case.k), case.blocks)]

    def offsets(self):
        return [self.ends_on_device]

    def pair(self, index):
        """Returns token rows as in a layer, without the gaps between groups."""
        a, b = (operand.values[:, self.valid].t().contiguous() for operand in self.sets[index])
        return a.t(), b

    def peers(self):
        pairs = [self.pair(index) for index in range(len(self.sets) - 1)]
        found = [implementations.GroupedMatmul(GROUPED, pairs, self.ends_on_device)]
        if "normal" in self.case.peers:
            a, b = pairs[0]
            normal = torch.randn_like(a.t()).t(), torch.randn_like(b)
            found.append(implementations.GroupedMatmul(GROUPED_NORMAL, [normal], self.ends_on_device))
        return found

    def reference(self, index):
        return implementations.grouped_mm(*self.pair(index), self.ends_on_device)

    def rows_wrong(self, out, index, case):
        (a, b), wrong = self.sets[index], 0
        rows = torch.linspace(0, self.case.n - 1, max(1, ROWS_COMPARED // self.case.groups),
                              device="cuda").long()
        for group, (begin, end) in enumerate(zip(self.starts, self.starts[1:])):
            wide = a.values[rows, begin:end].double()
            for first in range(0, self.case.k, 1024):
                high = b.values[first:first + 1024, begin:end].double()
                wrong += count_wrong(out[group, rows, first:first + 1024], wide, high, end - begin,
                                     case.promote)
        return wrong


class Limited:
    """Operands that mx-fold-operands folds, without wide rows or with some in A."""

    @staticmethod
    def widen(elements, name):
        """Returns `elements` with the wide rows of an implementation."""
        if interval := cases.WIDE.get(name):
            elements = elements.clone()
            elements[::interval, :32] *= 2.0**14
        return elements

    def arguments(self, program):
        for a, *others in super().arguments(program):
            yield [self.widen(a, program.name), *others]

    def wrong(self, implementation):
        """Counts rows far from the baseline, narrow rows that differ in any bit between
        implementations, and without wide rows also wrong small integers."""
        out, (a, _) = implementation.out.fill_(float("nan")), self.sets[0]
        implementation.launch(0)
        if not hasattr(self, "narrow"):
            self.narrow = out.clone()
        values, a.values = a.values, self.widen(a.values, implementation.name)
        reference, a.values = self.reference(0), values
        errors = torch.cat([(x - y.float()).norm(dim=1) / y.float().norm(dim=1)
                            for x, y in zip(out.split(8192), reference.split(8192))])
        differs = (out.view(torch.int16) != self.narrow.view(torch.int16)).any(1)
        if interval := cases.WIDE.get(implementation.name):
            differs[::interval] = False
        wrong = int((~(errors < MOST_ERROR) | differs).sum())
        if not interval:
            implementation.launch(implementation.count)
            wrong += int((out != self.reference(implementation.count)).sum())
        return wrong


def make(case):
    if case.gradient:
        return Gradient(case)
    kind = GroupedRows if case.groups else Matmul
    return type("Limited", (Limited, kind), {})(case) if case.folds else kind(case)
