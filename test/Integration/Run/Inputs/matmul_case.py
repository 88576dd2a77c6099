"""A dense, batched or grouped matmul: rows of the matrices, text of the program, and results before rounding."""

import dataclasses

import mx_reference as ref
import numpy as np
from harness import FLOATS, tensor


@dataclasses.dataclass
class Matmul:
    """`m` is a number of rows, or of the rows of each expert group. `k` is the length of the reduction, or of the part
    of each expert group."""
    m: object
    n: int
    k: object
    kind: str = "dense"  # or batched, rows, masked, reduction
    out: str = "f32"
    result: str = "plain"  # or scatter, or the elements of quantized results
    schedule: str = ""
    accumulate: bool = False
    alpha: bool = False
    epilogue: bool = False
    pairs: bool = False
    seed: int = -1

    def __str__(self):
        changed = [f"{field.name}={getattr(self, field.name)!r}" for field in dataclasses.fields(self)[3:]
                   if getattr(self, field.name) != field.default]
        return f"{self.m} x {self.n} x {self.k} {' '.join(changed)}"

    def make(self):
        """Draws operands, weights of the epilogue and previous results."""
        self.rng = np.random.default_rng([self.seed + 1, self.n, np.sum(self.k)])
        self.count = 2 if self.pairs else 1
        parts = len(self.k) if self.kind == "reduction" else {"dense": 1, "batched": 3}.get(self.kind)
        self.sizes = [self.m] * parts if parts else list(self.m)
        self.height = max(*self.sizes, 1)  # rows of a matrix of a batch
        self.ends = np.cumsum(self.sizes)
        groups, is_matrix = len(self.sizes), self.kind in ("dense", "reduction")
        rows = groups * self.height if self.kind == "masked" else self.ends[-1] + 5 * (self.kind == "rows")
        self.in_a, self.in_b = groups if self.is_batch() and not is_matrix else 0, 0 if is_matrix else groups
        starts = np.arange(groups) * self.height if self.kind == "masked" else self.ends - self.sizes
        self.parts = [np.s_[start:start + size] for start, size in zip(starts, self.sizes)]
        self.draw_operands(rows, groups * self.n * self.count)
        self.weights = self.rng.choice([0.5, 1, -2, 0.75], rows).astype(np.float32)
        self.bias = self.rng.standard_normal(self.n).astype(np.float32)
        self.to = self.rng.permutation(rows) - 2  # some rows are outside of the result
        shape = (self.ends[-1] if self.result == "scatter" else rows, self.n)
        self.old = self.rng.standard_normal(shape).astype(FLOATS[self.out])

    def finish(self, found, part):
        """Applies `alpha`, `accumulate` and the epilogue to the accumulators of a group's rows."""
        with np.errstate(all="ignore"):
            if self.alpha:
                found = [values * np.float32(0.3) for values in found]
            values = found[0]
            if self.accumulate:
                values = self.old[part].astype(np.float32) + values
            if self.pairs:
                values = values * found[1]
            if self.epilogue:
                weights = self.weights[:len(values)] if self.is_batch() else self.weights[part]
                values = values * weights[:, None] + self.bias
        return values

    def is_batch(self):
        return self.kind in ("batched", "masked", "reduction")

    def stack_tiles(self, scales):
        return np.stack([ref.tile(own, slack=255) for own in np.split(scales, len(self.sizes))])

    # --- Program ----------------------------------------------------------------------

    def shape(self, array, matrices):
        """Divides the rows of an array into matrices of a batch."""
        return array.reshape(matrices, -1, *array.shape[1:]) if matrices else array

    def results(self):
        """Returns the previous contents of the results, with their types."""
        matrices = len(self.sizes) if self.is_batch() else 0
        if self.result not in ref.ELEMENTS:
            old = self.shape(self.old, matrices)
            return [old], [tensor(old.shape, self.out)]
        elements = np.zeros((len(self.old), self.n), np.uint8)
        scales = np.zeros((len(self.old), self.n // 32), np.uint8)
        tiles = ref.tile_rows(scales, self.ends) if self.kind == "rows" else self.stack_tiles(scales)
        elements = self.shape(elements, matrices)
        types = [tensor(elements.shape, self.result), tensor(tiles.shape, "f8E8M0FNU")]
        return [ref.pack(elements, self.result), tiles], types

    def get_epilogue(self):
        if not self.pairs and not self.epilogue:
            return ""
        lines = ["%v0 = arith.mulf %x0, %x1 : f32"] if self.pairs else []
        last = "%v0" if self.pairs else "%x0"
        if self.epilogue:
            lines += [f"%w = tensor.extract %weights[%row] : tensor<{len(self.weights)}xf32>",
                      f"%c = tensor.extract %bias[%column] : tensor<{self.n}xf32>",
                      f"%h = arith.mulf {last}, %w : f32", "%v = arith.addf %h, %c : f32"]
            last = "%v"
        out = self.out if self.result == "plain" else "f32"
        if out != "f32":
            lines, last = [*lines, f"%short = arith.truncf {last} : f32 to {out}"], "%short"
        lines.append(f"mx.yield {last} : {out}")
        names = ", ".join(f"%x{i}: f32" for i in range(self.count))
        return f"epilogue {{\n^bb0({names}, %row: index, %column: index):\n" + "\n".join(lines) + "\n}"

    def build(self, f, names, types, form=""):
        """Adds the matmul of `names` to the function `f`, which it returns."""
        outs, out_types = self.results()
        results = [f.argument(*pair, f"out{i}") for i, pair in enumerate(zip(out_types, outs))]
        offsets = {"rows": self.ends, "reduction": np.cumsum(self.k)}.get(self.kind, self.sizes)
        to, offsets = self.to.astype(np.int32), np.array(offsets, np.int32)
        for name, array, element in (("weights", self.weights, "f32"), ("bias", self.bias, "f32"), ("to", to, "i32"),
                                     ("ends", offsets, "i32")):
            f.argument(tensor(array.shape, element), array, name)
        f.lines.append("%factor = arith.constant 0.3 : f32")
        grouped = self.kind in ("rows", "masked", "reduction")
        ragged = "reduction" if self.kind == "reduction" else "rows"
        words = [f"mx.grouped_matmul ragged = {ragged}" if grouped else "mx.matmul", "masked" * (self.kind == "masked"),
                 f"ins({', '.join(names)} : {', '.join(types)})",
                 f"offsets(%ends : tensor<{len(offsets)}xi32>)" * grouped, "alpha(%factor)" * self.alpha,
                 f"scatter(%to : tensor<{len(to)}xi32>)" * (self.result == "scatter"),
                 f"outs({', '.join(results)} : {', '.join(out_types)})", form, "num_b = 2" * self.pairs,
                 "accumulate" * self.accumulate,
                 f"{{mxgpu.schedule = #mxgpu.schedule<{self.schedule}>}}" if self.schedule else ""]
        f.call(" ".join(filter(None, words)), out_types, self.get_epilogue())
        return f
