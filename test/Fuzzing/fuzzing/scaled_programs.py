"""Random block-scaled linalg, arith and TOSA operations for `mx-import-scaled`."""

import numpy as np

from .contractions import chance, numbers, pick
from .rewrite_programs import ELEMENTS, FLOATS, UNITS, Codes, Expected, Programs, affine_map, reference, tensor

BITS = {"f8E4M3FN": 8, "f8E5M2": 8, "f6E3M2FN": 6, "f6E2M3FN": 6, "f4E2M1FN": 4, "!tosa.mxint8": 8}
# 8-bit codes without NaN and infinities.
FINITE = {"f8E4M3FN": [c for c in range(256) if c & 0x7F != 0x7F], "f8E5M2": [c for c in range(256) if c & 0x7C != 0x7C]}


class Blocks:
    """Elements, and one scale per `block` elements along the last axis of `shape`."""

    def __init__(self, rng, shape, element, block, is_nvfp4=False):
        self.element, self.block, self.is_nvfp4 = element, block, is_nvfp4
        self.codes = rng.choice(FINITE.get(element, range(2 ** BITS[element])), shape).astype(np.uint8)
        self.scale_shape = (*shape[:-1], shape[-1] // block)
        if is_nvfp4:
            self.scales = rng.integers(1, 0x7E, self.scale_shape).astype(np.uint8)
        else:
            self.scales = rng.integers(119, 136, self.scale_shape).astype(np.uint8)
        self.scale_type = "f8E4M3FN" if is_nvfp4 else "f8E8M0FNU"
        name = "i8" if element == "!tosa.mxint8" else element
        wide = np.repeat(reference.decode_scale(self.scales, is_nvfp4), block, axis=-1)
        self.exact = reference.decode(self.codes, name) * wide

    def arguments(self, programs, dims, dynamic, scale_dims):
        """Returns elements and scales as arguments. `dims` and `scale_dims` are pairs of sizes and dynamic axes."""
        codes = self.codes.reshape(dims)
        if self.element == "f4E2M1FN":
            codes = codes[..., 0::2] | codes[..., 1::2] << 4
        elif self.element == "!tosa.mxint8":
            codes = codes.view(np.int8)
        kinds = tensor(dims, self.element, dynamic), tensor(scale_dims[0], self.scale_type, scale_dims[1])
        return [(programs.argument(kinds[0], np.ascontiguousarray(codes)), kinds[0]),
                (programs.argument(kinds[1], self.scales.reshape(scale_dims[0])), kinds[1])]


def scaled(rng, names, types, to, is_nvfp4, number):
    """Returns the lines that multiply a body argument by its scale, and the name of the result."""
    result = f"%w{number}_{{n}}"
    if not is_nvfp4 and chance(rng, 0.7):
        return [f"{result} = arith.scaling_extf {names[0]}, {names[1]} : {types[0]}, {types[1]} to {to}"], result
    lines = [f"%e{number}_{{n}} = arith.extf {names[0]} : {types[0]} to {to}",
             f"%f{number}_{{n}} = arith.extf {names[1]} : {types[1]} to {to}"]
    factors = [f"%e{number}_{{n}}", f"%f{number}_{{n}}"]
    if chance(rng, 0.3):
        factors.reverse()
    return lines + [f"{result} = arith.mulf {factors[0]}, {factors[1]} : {to}"], result


def random_format(rng):
    """Returns an element type, a block size and a flag for NVFP4 scales."""
    if chance(rng, 0.2):
        return "f4E2M1FN", pick(rng, [16, 16, 32]), True
    return pick(rng, ELEMENTS), pick(rng, [32, 32, 32, 64]), False


def matmul(programs, rng, case):
    """Adds a matmul with one or two reduction loops that scales its operands in the body."""
    formats = [random_format(rng)]
    formats.append(formats[0] if chance(rng, 0.5) or formats[0][2] else random_format(rng))
    sides = pick(rng, [(True, True)] * 3 + [(True, False), (False, True)])
    block = max(formats[0][1], formats[1][1])
    formats = [(element, block, is_nvfp4) for element, _, is_nvfp4 in formats]
    count, in_parts = pick(rng, [1, 1, 2, 2, 4]), chance(rng, 0.5)
    size = {"b": pick(rng, [1, 2, 3]), "m": pick(rng, [1, 3, 8, 17]), "n": pick(rng, [1, 2, 5, 16]), "o": count, "i": block,
            "k": count * block}
    batch = pick(rng, [[], [], ["b"]])
    shared = [batch, [] if batch and chance(rng, 0.3) else batch]
    rows = [shared[0] + ["m"], shared[1] + ["n"]]
    if chance(rng, 0.1):
        rows[0] = shared[0]
    sums = ["o", "i"] if in_parts else ["k"]
    out = [d for d in batch if d in rows[0] + rows[1]] + (["m"] if "m" in rows[0] else []) + ["n"]
    if chance(rng, 0.2):
        out = [d for d in out if d not in "mn"] + [d for d in "nm" if d in out]
    loops = [*batch, *[d for d in "mn" if d in out], *sums]
    rng.shuffle(loops)
    dynamic = {d for d in "bmno" if chance(rng, 0.2)}
    dynamic_axes = lambda dims: [i for i, d in enumerate(dims) if d in dynamic]
    inputs, maps, scale_maps, scale_inputs, values, body, factors = [], [], [], [], [], [], []
    to = pick(rng, ["f32"] * 4 + ["bf16"]) if all(sides) else "bf16"
    arguments = [None] * 2
    for side, (is_scaled, own) in enumerate(zip(sides, rows)):
        dims = own + sums
        shape = [size[d] for d in own]
        if not is_scaled:
            array = numbers(rng, [*shape, size["k"]], to)
            kind = tensor([size[d] for d in dims], to, dynamic_axes(dims))
            inputs.append((programs.argument(kind, array.reshape([size[d] for d in dims])), kind))
            maps.append(affine_map(loops, dims))
            values.append(array.astype(np.float64))
            arguments[side] = (to, None)
            continue
        element, _, is_nvfp4 = formats[side]
        blocks = Blocks(rng, (*shape, size["k"]), element, block, is_nvfp4)
        values.append(blocks.exact)
        if in_parts:
            scale_dims, scale_results = own + ["o"], own + ["o"]
            sizes = [size[d] for d in scale_dims], dynamic_axes(scale_dims)
        else:
            last = "0" if count == 1 and chance(rng, 0.5) else f"k floordiv {block}"
            scale_results = own + [last]
            sizes = [*shape, count], dynamic_axes(own)
            if chance(rng, 0.06):  # some scales remain unread
                blocks.scales = np.concatenate([blocks.scales, blocks.scales], axis=-1)
                sizes = [*shape, 2 * count], sizes[1]
        elements, scales = blocks.arguments(programs, [size[d] for d in dims], dynamic_axes(dims), sizes)
        inputs.append(elements)
        scale_inputs.append(scales)
        maps.append(affine_map(loops, dims))
        scale_maps.append(affine_map(loops, scale_results))
        arguments[side] = (element, blocks.scale_type)
    # The operands precede the scales.
    types = [element for element, _ in arguments] + [scale for _, scale in arguments if scale]
    next_scale = 2
    for side, (element, scale) in enumerate(arguments):
        if scale is None:
            factors.append(f"{{{side}}}")
            continue
        lines, name = scaled(rng, [f"{{{side}}}", f"{{{next_scale}}}"], [element, scale], to, formats[side][2], side)
        next_scale += 1
        body += lines
        factors.append(name)
    wide = "f32"
    if to != wide:
        for side in (0, 1):
            body.append(f"%h{side}_{{n}} = arith.extf {factors[side]} : {to} to f32")
            factors[side] = f"%h{side}_{{n}}"
    body += [f"%p_{{n}} = arith.mulf {', '.join(factors)} : f32", "%s_{n} = arith.addf %p_{n}, {" + str(len(types)) + "} : f32",
             "linalg.yield %s_{n} : f32"]
    kind = tensor([size[d] for d in out], wide, dynamic_axes(out))
    sizes = []
    for d in out:
        if d in dynamic:
            side = 0 if d in rows[0] else 1
            sizes.append(programs.size_of(*inputs[side], rows[side].index(d)))
    init = np.zeros([size[d] for d in out])
    if chance(rng, 0.25):
        start = numbers(rng, init.shape, wide)
        init, destination = start.astype(np.float64), programs.argument(kind, start)
    else:
        destination = programs.filled(kind, wide, sizes)
    name = programs.generic(maps + scale_maps + [affine_map(loops, out)],
                            ["reduction" if d in sums else "parallel" for d in loops], inputs + scale_inputs,
                            (destination, kind), "\n".join(body), types + [wide])
    dtype = wide
    if chance(rng, 0.3):
        dtype = pick(rng, ["bf16", "f16"])
        name = programs.truncated(name, [size[d] for d in out], dtype, dynamic_axes(out), sizes, chance(rng, 0.5))
        kind = tensor([size[d] for d in out], dtype, dynamic_axes(out))
    text = f"{''.join(rows[0])}k,{''.join(rows[1])}k->{''.join(out)}"
    a, b = values
    case.results.append((name, kind, Expected(np.einsum(text, a, b) + init, np.einsum(text, np.abs(a), np.abs(b)) + np.abs(init),
                                              dtype, size["k"] + 4)))


def dequantization(programs, rng, case):
    """Adds an operation that scales a tensor of any rank, with blocks along any axis, and returns the result."""
    element, block, is_nvfp4 = random_format(rng)
    rank = pick(rng, [1, 2, 2, 2, 3, 3, 4])
    shape = [pick(rng, [1, 2, 3, 5]) for _ in range(rank - 1)]
    blocks = Blocks(rng, (*shape, block * pick(rng, [1, 1, 2, 3])), element, block, is_nvfp4)
    axis = int(rng.integers(rank)) if element != "f4E2M1FN" and chance(rng, 0.4) else rank - 1
    exact, codes, scales = (np.moveaxis(array, -1, axis) for array in (blocks.exact, blocks.codes, blocks.scales))
    dynamic = [i for i in range(rank) if i != axis and chance(rng, 0.25)]
    dtype = pick(rng, ["f32", "f32", "bf16"])
    blocks.codes, blocks.scales = codes, scales
    constant = chance(rng, 0.5) and scales.shape[axis] == 1
    elements, scale = blocks.arguments(programs, exact.shape, dynamic, (scales.shape, dynamic))
    loops = [f"d{i}" for i in range(rank)]
    results = [(("0" if constant else f"{d} floordiv {block}") if i == axis else d) for i, d in enumerate(loops)]
    kind = tensor(exact.shape, dtype, dynamic)
    sizes = [programs.size_of(*elements, i) for i in dynamic]
    body, name = scaled(rng, ["{0}", "{1}"], [element, blocks.scale_type], dtype, is_nvfp4, 0)
    out = loops if chance(rng, 0.8) else list(rng.permutation(loops))
    order = [loops.index(d) for d in out]
    kind = tensor([exact.shape[i] for i in order], dtype, [at for at, i in enumerate(order) if i in dynamic])
    sizes = [programs.size_of(*elements, i) for i in order if i in dynamic]
    result = programs.generic([affine_map(loops, loops), affine_map(loops, results), affine_map(loops, out)],
                              ["parallel"] * rank, [elements, scale], (programs.empty(kind, sizes), kind),
                              "\n".join([*body, f"linalg.yield {name} : {dtype}"]), [element, blocks.scale_type, dtype])
    exact = exact.transpose(order)
    case.results.append((result, kind, Expected(exact, np.zeros_like(exact), dtype, 0)))


def tosa_matmul(programs, rng, case):
    element = pick(rng, [*ELEMENTS, "!tosa.mxint8"])
    batch, rows, columns, sums = pick(rng, [1, 2, 3]), pick(rng, [1, 3, 16]), pick(rng, [1, 2, 9]), pick(rng, [32, 64, 128])
    matrices = 1 if chance(rng, 0.3) else batch
    a = Blocks(rng, (batch, rows, sums), element, 32)
    b = Blocks(rng, (matrices, columns, sums), element, 32)
    axes = [{i for i, letter in enumerate("bmnk") if letter != "k" and chance(rng, 0.2)} for _ in range(1)][0]
    of_a, of_b = [i for i, d in enumerate((0, 1)) if d in axes], [i for i, d in enumerate((None, 2)) if d in axes]
    names = [*a.arguments(programs, a.codes.shape, of_a, (a.scale_shape, of_a)),
             *b.arguments(programs, b.codes.shape, of_b, (b.scale_shape, of_b))]
    kind = tensor((batch, rows, columns), "f32", [i for i in range(3) if i in axes])
    name = programs.say(f"tosa.matmul_t_block_scaled {', '.join(n for n, _ in names)} {{block_size = BLOCK_SIZE_32}} : "
                        f"({', '.join(k for _, k in names)}) -> {kind}")
    x, y = a.exact, np.broadcast_to(b.exact, (batch, columns, sums))
    case.results.append((name, kind, Expected(np.einsum("bmk,bnk->bmn", x, y), np.einsum("bmk,bnk->bmn", np.abs(x), np.abs(y)),
                                              "f32", sums + 4)))


def tosa_cast_from(programs, rng, case):
    element = pick(rng, [*ELEMENTS, "!tosa.mxint8"])
    shape = [pick(rng, [1, 2, 3]) for _ in range(pick(rng, [0, 1, 1, 2, 3]))]
    blocks = Blocks(rng, (*shape, pick(rng, [32, 64])), element, 32)
    dynamic = [i for i in range(len(shape)) if chance(rng, 0.2)]
    names = blocks.arguments(programs, blocks.codes.shape, dynamic, (blocks.scale_shape, dynamic))
    dtype = pick(rng, ["f32", "bf16"])
    kind = tensor(blocks.exact.shape, dtype, dynamic)
    name = programs.say(f"tosa.cast_from_block_scaled {', '.join(n for n, _ in names)} {{block_size = BLOCK_SIZE_32}} : "
                        f"({', '.join(k for _, k in names)}) -> {kind}")
    case.results.append((name, kind, Expected(blocks.exact, np.zeros_like(blocks.exact), dtype, 0)))


def tosa_cast_to(programs, rng, case):
    element = pick(rng, [*ELEMENTS, "!tosa.mxint8"])
    shape = [*[pick(rng, [1, 2, 3]) for _ in range(pick(rng, [0, 1, 1, 2, 3]))], pick(rng, [32, 64])]
    dynamic = [i for i in range(len(shape) - 1) if chance(rng, 0.2)]
    dtype = pick(rng, ["f32", "bf16"])
    array = numbers(rng, shape, dtype)
    given = tensor(shape, dtype, dynamic)
    kinds = tensor(shape, element, dynamic), tensor([*shape[:-1], shape[-1] // 32], "f8E8M0FNU", dynamic)
    programs.count += 1
    name = f"%q{programs.count}"
    programs.lines.append(f"{name}:2 = tosa.cast_to_block_scaled {programs.argument(given, array)} "
                          f"{{block_size = BLOCK_SIZE_32}} : ({given}) -> ({', '.join(kinds)})")
    of_mx = "i8" if element == "!tosa.mxint8" else element
    codes, scales = reference.quantize(array.astype(np.float32).reshape(-1, shape[-1]), of_mx, "fit")
    codes = reference.pack(codes.reshape(shape), of_mx).view(np.uint8)
    case.results += [(f"{name}#0", kinds[0], Codes(codes)), (f"{name}#1", kinds[1], Codes(scales.reshape(*shape[:-1], -1)))]


class ScaledPrograms(Programs):
    """Functions for `mx-import-scaled`; all cases of a function share the options."""

    def __init__(self, seeds, group):
        super().__init__()
        self.group = group
        rng = np.random.default_rng(group)
        layout = "linear" if chance(rng, 0.2) else "sf_128x4"
        self.pipeline = f"builtin.module(mx-import-scaled{{scale-layout={layout} dynamic-blocks wide-f16}})"
        for seed in seeds:
            self.grow(seed)

    def make(self, rng, case):
        pick(rng, [matmul] * 5 + [dequantization] * 3 + [tosa_matmul, tosa_cast_from, tosa_cast_to])(self, rng, case)

    def choose(self, left):
        """Returns the program to run. The program omits the cases in `left`, which cannot be lowered."""
        if not left:
            return self
        return ScaledPrograms([case.seed for case in self.cases if case.seed not in left], self.group)
