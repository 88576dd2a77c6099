"""Random float matmuls for `mx-quantize-matmuls`: contractions with arbitrary index maps, and expert loops."""

import numpy as np

from .rewrite_programs import FLOATS, Expected, Programs, affine_map, reference, tensor

RECIPES = {"mxfp8": "f8E4M3FN", "mxfp8-e5m2": "f8E5M2", "mxfp6-e2m3": "f6E2M3FN", "mxfp6-e3m2": "f6E3M2FN",
           "mxfp4": "f4E2M1FN", "nvfp4": "f4E2M1FN"}


def pick(rng, choices):
    return choices[int(rng.integers(len(choices)))]


def chance(rng, probability):
    return rng.random() < probability


def numbers(rng, shape, dtype):
    """Returns random numbers with very different magnitudes, so block scales differ. Some numbers are 0."""
    found = rng.standard_normal(shape) * 2.0 ** rng.integers(-6, 7, shape)
    return (found * (rng.random(shape) < 0.95)).astype(np.float32).astype(FLOATS[dtype])


def make_options(rng):
    """Chooses pass options, including the recipes for cases that specify no recipe."""
    recipes = [pick(rng, ["mxfp8"] * 3 + list(RECIPES)) for _ in range(2)]
    if "nvfp4" in recipes or chance(rng, 0.5):
        recipes[1] = recipes[0]
    rounding = pick(rng, ["ceil", "ceil", "floor", "even", "fit"])
    text = f"lhs-recipe={recipes[0]} rhs-recipe={recipes[1]} scale-rounding={rounding}"
    if chance(rng, 0.2):
        text += " scale-layout=linear"
    if chance(rng, 0.3):
        text += " dynamic-reductions"
    return text, recipes, rounding


def quantized(array, axes, recipe, rounding, groups=None):
    """Quantizes `array` in blocks along `axes`, treated as one dimension; each expert group is quantized separately."""
    kept = [axis for axis in range(array.ndim) if axis not in axes]
    order = kept + list(axes)
    moved = np.transpose(array, order).astype(np.float32)
    flat = moved.reshape(int(np.prod(moved.shape[:len(kept)])), int(np.prod(moved.shape[len(kept):])))
    parts = np.split(flat, groups[:-1] if groups is not None else [], axis=1)
    element, is_nvfp4 = RECIPES[recipe], recipe == "nvfp4"
    found = []
    for part in parts:
        codes, scales = reference.quantize(part, element, rounding, nvfp4_encode=1.0 if is_nvfp4 else None)
        found.append(reference.real(codes, scales, element, is_nvfp4))
    return np.transpose(np.concatenate(found, axis=1).reshape(moved.shape), np.argsort(order))


def contraction(programs, rng, case):
    """Adds a matmul of two tensors with random index maps, in a random form of linalg."""
    recipes, rounding = programs.recipes, programs.rounding
    counts = [pick(rng, choices) for choices in ([0, 0, 0, 1, 1, 2], [0, 1, 1, 1, 1, 1, 2, 2], [0, 1, 1, 1, 1, 1, 2, 2], [1, 1, 1, 2, 2, 3])]
    groups = [[f"{letter}{i}" for i in range(count)] for letter, count in zip("bmnk", counts)]
    batch, rows, columns, sums = groups
    loops = [loop for group in groups for loop in group]
    rng.shuffle(loops)
    total = pick(rng, [32, 64, 64, 64, 128, 128, 192, 16, 40])
    size = {loop: pick(rng, [1, 2, 3]) for loop in batch}
    size |= {loop: pick(rng, [1, 2, 3, 5, 8]) for loop in rows + columns}
    for loop in sums[:-1]:
        size[loop] = pick(rng, [1, 2, 4, 8])
        total = max(total // size[loop], 1)
    size[sums[-1]] = total
    # Dynamic reduction sizes are checked at run time, so they must be valid.
    is_whole = np.prod([size[loop] for loop in sums]) % 128 == 0
    dynamic = {loop for loop in loops if chance(rng, 0.1 * is_whole if loop in sums else 0.25)}
    first, second = batch + rows + sums, batch + columns + sums
    out = batch + rows + columns
    if chance(rng, 0.2):
        rng.shuffle(first)
    elif chance(rng, 0.3):
        first = batch + sums + rows
    if chance(rng, 0.2):
        rng.shuffle(second)
    elif chance(rng, 0.3):
        second = batch + sums + columns
    if chance(rng, 0.15):
        rng.shuffle(out)
    elif chance(rng, 0.2):
        out = batch + columns + rows
    wide = pick(rng, ["f32"] * 5 + ["bf16", "f16"])
    types = [pick(rng, ["f32", "bf16", "f16"])] * 2
    if chance(rng, 0.2):
        types[1] = pick(rng, ["f32", "bf16", "f16"])
    if wide != "f32":
        types = [wide] * 2
    operands, names, kinds = [], [], []
    for dims, dtype in zip((first, second), types):
        array = numbers(rng, [size[d] for d in dims], dtype)
        name, kind = transposed_argument(programs, rng, dims, dynamic, array, dtype)
        operands.append(array.astype(np.float64))
        names.append(name)
        kinds.append(kind)

    def size_of(loop):
        which, dims = (0, first) if loop in first else (1, second)
        return programs.size_of(names[which], kinds[which], dims.index(loop))

    result = tensor([size[d] for d in out], wide, [i for i, d in enumerate(out) if d in dynamic])
    sizes = [size_of(d) for d in out if d in dynamic]
    init = np.zeros([size[d] for d in out])
    if chance(rng, 0.3):
        start = numbers(rng, init.shape, wide)
        init = start.astype(np.float64)
        destination = programs.argument(result, start)
    else:
        destination = programs.filled(result, wide, sizes)
    attributes = {}
    if chance(rng, 0.2):
        recipes = [pick(rng, [name for name in RECIPES if name != "nvfp4"]) for _ in range(2)]
        attributes["mx.recipe"] = f'["{recipes[0]}", "{recipes[1]}"]'
    name = multiply(programs, rng, loops, (first, second, out), sums, list(zip(names, kinds)), (destination, result),
                    types, wide, attributes)
    dtype = wide
    if wide == "f32" and chance(rng, 0.3):
        dtype = pick(rng, ["bf16", "f16"])
        dynamic_axes = [i for i, d in enumerate(out) if d in dynamic]
        name = programs.truncated(name, [size[d] for d in out], dtype, dynamic_axes, sizes, chance(rng, 0.5))
        result = tensor([size[d] for d in out], dtype, dynamic_axes)
    steps = int(np.prod([size[d] for d in sums]))

    def matmul(a, b, additions):
        letters = {loop: i for i, loop in enumerate(loops)}
        subscripts = [[letters[d] for d in dims] for dims in (first, second, out)]
        compute = lambda x, y: np.einsum(x, subscripts[0], y, subscripts[1], subscripts[2])
        return Expected(compute(a, b) + init, compute(np.abs(a), np.abs(b)) + np.abs(init), dtype, steps + 4, additions)

    in_blocks = [quantized(array, [dims.index(loop) for loop in first if loop in sums], recipe, rounding)
                 for array, dims, recipe in zip(operands, (first, second), recipes)]
    case.results.append((name, result, matmul(*in_blocks, "f32"), matmul(*operands, wide)))


def transposed_argument(programs, rng, dims, dynamic, array, dtype):
    """Returns an argument with these dimensions. The program may transpose the argument to obtain them."""
    kind = tensor(array.shape, dtype, [i for i, d in enumerate(dims) if d in dynamic])
    if len(dims) < 2 or chance(rng, 0.85):
        return programs.argument(kind, array), kind
    order = list(rng.permutation(len(dims)))
    back = np.argsort(order)
    given = tensor(array.transpose(order).shape, dtype, [i for i, at in enumerate(order) if dims[at] in dynamic])
    name = programs.argument(given, np.ascontiguousarray(array.transpose(order)))
    sizes = [programs.size_of(name, given, int(back[i])) for i, d in enumerate(dims) if d in dynamic]
    return programs.say(f"linalg.transpose ins({name} : {given}) outs({programs.empty(kind, sizes)} : {kind}) "
                        f"permutation = [{', '.join(str(i) for i in back)}]"), kind


def multiply(programs, rng, loops, dims, sums, inputs, out, types, wide, attributes):
    """Writes the matmul as linalg.contract, linalg.matmul, linalg.batch_matmul or linalg.generic."""
    maps = [affine_map(loops, part) for part in dims]
    listed = ", ".join(name for name, _ in inputs), ", ".join(kind for _, kind in inputs)
    given = "".join(f" {{{key} = {value}}}" for key, value in attributes.items())
    operands = f"ins({listed[0]} : {listed[1]}) outs({out[0]} : {out[1]}) -> {out[1]}"
    if chance(rng, 0.5):
        named = [f"linalg.contract indexing_maps = [{', '.join(maps)}]{given} {operands}"]
        named += [f"linalg.{name}{given} {operands}" for name, forms in NAMED.items() if dims_match(dims, forms)]
        return programs.say(pick(rng, named))
    kinds = ["reduction" if loop in sums else "parallel" for loop in loops]
    body, factors = [], []
    for i, dtype in enumerate(types):
        factors.append(f"{{{i}}}" if dtype == wide else f"%w{i}_{{n}}")
        if dtype != wide:
            body.append(f"%w{i}_{{n}} = arith.extf {{{i}}} : {dtype} to {wide}")
    if chance(rng, 0.2):
        factors.reverse()
    body += [f"%p_{{n}} = arith.mulf {factors[0]}, {factors[1]} : {wide}",
             f"%s_{{n}} = arith.addf {pick(rng, ['{2}, %p_{n}', '%p_{n}, {2}'])} : {wide}", f"linalg.yield %s_{{n}} : {wide}"]
    name = programs.generic(maps, kinds, inputs, out, "\n".join(body), [*types, wide])
    if given:  # the attributes follow the maps in the operation's dictionary
        at = next(i for i, line in enumerate(programs.lines) if line.startswith(f"{name} = "))
        entries = "".join(f", {key} = {value}" for key, value in attributes.items())
        programs.lines[at] = programs.lines[at].replace("} ins(", f"{entries}}} ins(", 1)
    return name


# Named operations with their implicit index maps.
NAMED = {"matmul": ("mk", "kn", "mn"), "batch_matmul": ("bmk", "bkn", "bmn"), "matvec": ("mk", "k", "m"),
         "vecmat": ("k", "kn", "n"), "dot": ("k", "k", ""), "batch_matvec": ("bmk", "bk", "bm"), "batch_vecmat": ("bk", "bkn", "bn")}


def dims_match(dims, forms):
    return all("".join(loop[0] for loop in part) == form for part, form in zip(dims, forms))


def window(programs, rng, case):
    """Adds a sum that is not a matmul: a window, a diagonal, or a sum over one operand. The pass must not change it."""
    rows, columns, length = pick(rng, [1, 3, 8]), pick(rng, [1, 2, 5]), pick(rng, [32, 64])
    shapes, maps, subscripts = pick(rng, [
        (((rows + length - 1,), (columns, length)), ("m + k", "n, k"), None),
        (((length, length), (columns, length)), ("k, k", "n, k"), "kk,nk->n"),
        (((rows, length), (columns,)), ("m, k", "n"), "mk,n->mn"),
        (((rows, length), (columns, length + 3)), ("m, k", "n, k + 3"), None),
        (((2 * rows, length), (columns, length)), ("m * 2, k", "n, k"), None)])
    loops = [loop for loop in "mnk" if any(loop in part for part in maps)]
    results = [loop for loop in "mn" if loop in loops]
    arrays = [numbers(rng, shape, "f32") for shape in shapes]
    names = [(programs.argument(tensor(a.shape, "f32"), a), tensor(a.shape, "f32")) for a in arrays]
    shape = [{"m": rows, "n": columns}[loop] for loop in results]
    kind = tensor(shape, "f32")
    text = [f"affine_map<({', '.join(loops)}) -> ({part})>" for part in (*maps, ", ".join(results))]
    name = programs.generic(text, ["parallel" if loop in results else "reduction" for loop in loops], names,
                            (programs.filled(kind, "f32", []), kind),
                            "%p_{n} = arith.mulf {0}, {1} : f32\n%s_{n} = arith.addf {2}, %p_{n} : f32\nlinalg.yield %s_{n} : f32",
                            ["f32"] * 3)
    a, b = (array.astype(np.float64) for array in arrays)
    if maps[0] == "m + k":
        a, subscripts = np.stack([a[i:i + length] for i in range(rows)]), "mk,nk->mn"
    elif maps[0] == "m * 2, k":
        a, subscripts = a[::2], "mk,nk->mn"
    elif maps[1] == "n, k + 3":
        b, subscripts = b[:, 3:], "mk,nk->mn"
    expected = Expected(np.einsum(subscripts, a, b), np.einsum(subscripts, np.abs(a), np.abs(b)), "f32", length + 4)
    case.results.append((name, kind, expected, expected))


def grouped_loop(programs, rng, case):
    """Adds a loop over experts that multiplies the rows of each expert group by the expert's matrix, or sums over the
    tokens of each group."""
    recipes, rounding = programs.recipes, programs.rounding
    groups, is_sum = pick(rng, [1, 2, 3, 4]), chance(rng, 0.4)
    ends = np.sort(rng.integers(0, 14, groups)) if chance(rng, 0.7) else np.cumsum(rng.integers(0, 6, groups))
    tokens = int(ends[-1]) + int(pick(rng, [0, 0, 2]))
    others = [pick(rng, [32, 64, 96]), pick(rng, [8, 16, 32])]
    dtype, offsets = pick(rng, ["bf16", "f32", "f16"]), pick(rng, ["i32", "i64"])
    open_tokens = chance(rng, 0.5)
    say = programs.say
    # Operands as (dimension letters, array). Letter t is the token dimension, g the group dimension.
    size = {"t": tokens, "g": groups, "k": others[0], "n": others[1]}
    if is_sum:
        letters = [pick(rng, ["tk", "kt"]), pick(rng, ["tn", "nt"]), "gkn"]
        sums = "t"
    else:
        letters = [pick(rng, ["tk", "tk", "kt"]), pick(rng, ["gnk", "gkn"]), "tn"]
        sums = "k"
    if tokens == 0:
        open_tokens = True
    dynamic = {"t"} if open_tokens else set()
    kind_of = lambda part, element: tensor([size[d] for d in part], element, [i for i, d in enumerate(part) if d in dynamic])
    arrays = [numbers(rng, [size[d] for d in part], dtype) for part in letters[:2]]
    names = [programs.argument(kind_of(part, dtype), array) for part, array in zip(letters, arrays)]
    list_of_ends = programs.argument(f"tensor<{groups}x{offsets}>", ends.astype({"i32": np.int32, "i64": np.int64}[offsets]))
    rounds = not is_sum and chance(rng, 0.5)
    out_type = dtype if rounds and dtype != "f32" else "f32"
    out_kind = kind_of(letters[2], out_type)
    out_sizes = [programs.size_of(names[0], kind_of(letters[0], dtype), letters[0].index("t"))
                 for d in letters[2] if d in dynamic]
    accumulates = out_type == "f32" and chance(rng, 0.4)
    start = pick(rng, ["zeros", "argument"]) if accumulates else pick(rng, ["zeros", "empty"]) if not is_sum else "zeros"
    init = np.zeros([size[d] for d in letters[2]])
    if start == "argument":
        array = numbers(rng, init.shape, out_type)
        init, carried = array.astype(np.float64), programs.argument(out_kind, array)
    elif start == "zeros":
        carried = programs.filled(out_kind, out_type, out_sizes)
    else:
        carried = programs.empty(out_kind, out_sizes)
    zero, one, count = programs.index(0), programs.index(1), programs.index(groups)
    carries = chance(rng, 0.5)
    name, n = programs.fresh(), programs.count
    lines = programs.lines
    extra = f", %start_{n} = {zero}" if carries else ""
    lines.append(f"{name}{':2' if carries else ''} = scf.for %g_{n} = {zero} to {count} step {one} iter_args(%out_{n} = {carried}"
                 f"{extra}) -> ({out_kind}{', index' if carries else ''}) {{")
    end = say(f"arith.index_cast {say(f'tensor.extract {list_of_ends}[%g_{n}] : tensor<{groups}x{offsets}>')} : {offsets} to index")
    begin = f"%start_{n}"
    if not carries:
        before = say(f"arith.maxsi {say(f'arith.subi %g_{n}, {one} : index')}, {zero} : index")
        last = say(f"arith.index_cast {say(f'tensor.extract {list_of_ends}[{before}] : tensor<{groups}x{offsets}>')} : "
                   f"{offsets} to index")
        begin = say(f"arith.select {say(f'arith.cmpi eq, %g_{n}, {zero} : index')}, {zero}, {last} : index")
    length = say(f"arith.subi {end}, {begin} : index")

    def part(tensor_name, dims, element, into=None):
        """Extracts the slice of an expert group, or inserts `into` the slice."""
        where = {"t": (begin, length), "g": (f"%g_{n}", "1")}
        text = [[where.get(d, ("0", str(size[d])))[i] for d in dims] for i in (0, 1)]
        own = [d for d in dims if d != "g"]
        kind = tensor([size[d] for d in own], element, [i for i, d in enumerate(own) if d == "t"])
        slices = f"[{', '.join(text[0])}] [{', '.join(text[1])}] [{', '.join('1' for _ in dims)}]"
        if into:
            return say(f"tensor.insert_slice {tensor_name} into {into}{slices} : {kind} into {kind_of(dims, element)}"), kind
        return say(f"tensor.extract_slice {tensor_name}{slices} : {kind_of(dims, element)} to {kind}"), kind

    inputs = [part(tensor_name, dims, dtype) for tensor_name, dims in zip(names, letters)]
    own = [d for d in letters[2] if d != "g"]
    kind = tensor([size[d] for d in own], "f32", [i for i, d in enumerate(own) if d == "t"])
    sizes = [length for d in own if d == "t"]
    if accumulates:
        destination = part(f"%out_{n}", letters[2], "f32")[0]
    else:
        destination = programs.filled(kind, "f32", sizes)
    loops = [*own, sums]
    dims = [[d for d in item if d != "g"] for item in letters]
    matmul = multiply(programs, rng, loops, dims, [sums], inputs, (destination, kind), [dtype] * 2, "f32", {})
    if out_type != "f32":
        matmul = programs.truncated(matmul, [size[d] for d in own], out_type, [i for i, d in enumerate(own) if d == "t"],
                                    sizes, chance(rng, 0.5))
    inserted = part(matmul, letters[2], out_type, into=f"%out_{n}")[0]
    lines.append(f"scf.yield {inserted}{', ' + end if carries else ''} : {out_kind}{', index' if carries else ''}")
    lines.append("}")
    if carries:
        name += "#0"

    def expect(a, b):
        exact, sums_of, starts = np.array(init), np.abs(init), [0, *ends[:-1]]
        for g, (first, last) in enumerate(zip(starts, ends)):
            here = [(slice(first, last) if d == "t" else g if d == "g" else slice(None)) for d in letters[2]]
            x, y = (array[tuple(slice(first, last) if d == "t" else g if d == "g" else slice(None) for d in item)]
                    for array, item in zip((a, b), letters))
            text = ",".join("".join(d for d in item if d != "g") for item in letters[:2]) + "->" + "".join(own)
            exact[tuple(here)] = np.einsum(text, x, y) + (init[tuple(here)] if accumulates else 0)
            sums_of[tuple(here)] = np.einsum(text, np.abs(x), np.abs(y)) + (np.abs(init[tuple(here)]) if accumulates else 0)
        if start == "empty":
            sums_of[ends[-1]:] = np.nan  # not written by any expert group
        return Expected(exact, sums_of, out_type, max(size[sums], 1) + 4)

    arrays = [array.astype(np.float64) for array in arrays]
    in_blocks = [quantized(array, [item.index(sums)], recipe, rounding, groups=list(ends) + [tokens] if is_sum else None)
                 for array, item, recipe in zip(arrays, letters, recipes)]
    case.results.append((name, out_kind, expect(*in_blocks), expect(*arrays)))


class Contractions(Programs):
    """Functions for `mx-quantize-matmuls`; all cases of a function share the options."""

    def __init__(self, seeds, group):
        super().__init__()
        options, self.recipes, self.rounding = make_options(np.random.default_rng(group))
        self.pipeline = f"builtin.module(mx-quantize-matmuls{{{options}}})"
        for seed in seeds:
            self.grow(seed)

    def make(self, rng, case):
        pick(rng, [contraction] * 8 + [grouped_loop] * 2 + [window])(self, rng, case)

    def choose(self, left):
        """Returns the program to run, whose results are those of the rewritten cases. Expected values of the cases in
        `left` are computed without quantization."""
        for case in self.cases:
            case.results = [(name, kind, plain if case.seed in left else in_blocks)
                            for name, kind, in_blocks, plain in case.results]
        return self
