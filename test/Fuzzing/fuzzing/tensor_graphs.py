"""Random graphs of tensor operations: program, arguments and expected results.

Each new operation of a graph uses at least one existing value. Shapes are irregular, and some sizes are dynamic. Every
operation also computes its expected value with `tensor_values`."""

import dataclasses
import re

import numpy as np

from . import tensor_values as values
from .tensor_values import Number

SIZES = [1, 2, 3, 5, 7, 8, 13, 33]
FLOATS = ["f32"] * 5 + ["bf16", "f16", "f64"]
ELEMENT = re.compile(r"tensor<(?:[\d?]+x)*(\w+)>")


@dataclasses.dataclass(frozen=True)
class Dim:
    """Size of a dimension, and the SSA value if the size is dynamic."""

    size: int
    name: str = None

    @property
    def text(self):
        return "?" if self.name else str(self.size)


@dataclasses.dataclass
class Node:
    name: str
    dims: tuple
    value: Number

    @property
    def dtype(self):
        return self.value.dtype

    @property
    def type(self):
        return type_of(self.dtype, self.dims)


def type_of(dtype, dims):
    return "tensor<" + "".join(dim.text + "x" for dim in dims) + dtype + ">"


def map_of(loops, dims):
    return f"affine_map<({', '.join(f'd{i}' for i in range(loops))}) -> ({', '.join(f'd{i}' for i in dims)})>"


def number_text(dtype, number):
    return f"{float(number):.6e}" if dtype in values.FLOATS else str(int(number))


class Graphs:
    def __init__(self):
        self.rng, self.nodes, self.results = None, [], []
        self.lines, self.arguments, self.count = [], [], 0
        self.operations = [
            self.elementwise, self.elementwise, self.body, self.body, self.body_outs, self.reduction, self.reduction,
            self.named_reduction, self.transpose, self.broadcast, self.pad, self.slice, self.insert, self.concat,
            self.collapse, self.expand, self.softmax, self.matmul, self.batch_matmul, self.convert, self.compare,
            self.fill, self.splat, self.generate, self.named, self.window, self.insert_element]

    # Text

    def fresh(self):
        self.count += 1
        return f"%v{self.count}"

    def say(self, text, name=None):
        name = name or self.fresh()
        self.lines.append(f"{name} = {text}")
        return name

    def constant(self, dtype, number):
        return self.say(f"arith.constant {number_text(dtype, number)} : {dtype}")

    def index(self, number):
        return self.say(f"arith.constant {number} : index")

    def empty(self, dtype, dims):
        sizes = ", ".join(dim.name for dim in dims if dim.name)
        return self.say(f"tensor.empty({sizes}) : {type_of(dtype, dims)}")

    def filled(self, dtype, dims, number):
        kind = type_of(dtype, dims)
        return self.say(f"linalg.fill ins({self.constant(dtype, number)} : {dtype}) "
                        f"outs({self.empty(dtype, dims)} : {kind}) -> {kind}")

    def sum_of(self, dims):
        """Returns a dimension with the sum of these sizes as its size."""
        size = sum(dim.size for dim in dims)
        if not any(dim.name for dim in dims):
            return Dim(size)
        name = self.name_of(dims[0])
        for dim in dims[1:]:
            name = self.say(f"arith.addi {name}, {self.name_of(dim)} : index")
        return Dim(size, name)

    def name_of(self, dim):
        return dim.name or self.index(dim.size)

    # Choices

    def pick(self, choices):
        return choices[int(self.rng.integers(len(choices)))]

    def chance(self, probability):
        return self.rng.random() < probability

    def node(self, accept=lambda node: True):
        found = [node for node in self.nodes[-6:] + self.nodes if accept(node)]
        return self.pick(found) if found else None

    def numbers(self, dtype, shape):
        if dtype in values.FLOATS:
            kind = values.FLOATS[dtype][0]
            return self.rng.standard_normal(shape).astype(np.float32).astype(kind)
        if dtype == "i1":
            return self.rng.integers(0, 2, shape).astype(np.bool_)
        return self.rng.integers(-50, 50, shape).astype(values.INTEGERS[dtype])

    def argument(self, dtype=None, dims=None):
        """Adds an argument of the function, with new sizes unless `dims` is given."""
        dtype = dtype or self.pick(FLOATS + ["i32", "i1", "index"])
        name = f"%a{len(self.arguments)}"
        if dims is None:
            rank = int(self.rng.integers(0, 5))
            sizes = [self.pick(SIZES if rank < 4 else SIZES[:5]) for _ in range(rank)]
            dynamic = [self.chance(0.4) for _ in sizes]
            sizes = [0 if is_dynamic and self.chance(0.02) else size for size, is_dynamic in zip(sizes, dynamic)]
            dims = [Dim(size, "?" if is_dynamic else None) for size, is_dynamic in zip(sizes, dynamic)]
            kind = type_of(dtype, dims)
            dims = tuple(Dim(dim.size, self.say(f"tensor.dim {name}, {self.index(i)} : {kind}")) if dim.name else dim
                         for i, dim in enumerate(dims))
        array = self.numbers(dtype, [dim.size for dim in dims])
        exact = array.astype(np.float64) if dtype in values.FLOATS else array
        node = Node(name, tuple(dims), Number.of(dtype, exact))
        self.arguments.append((node.type, array))
        return node

    def add(self, text, dims, value):
        return Node(self.say(text), tuple(dims), value)

    def partner(self, node):
        """Returns a node of the same type."""
        other = self.node(lambda it: it.type == node.type and it.dims == node.dims)
        return other if other and self.chance(0.6) else self.argument(node.dtype, node.dims)

    # Elementwise expressions on tensors and in regions

    def unary(self, kind, x, value):
        """Returns the text and the value of a unary function."""
        dtype = value.dtype
        if dtype == "i1":
            return f"arith.xori {x}, {x} : {kind}", Number.of("i1", np.zeros(value.shape, np.bool_))
        if dtype not in values.FLOATS:
            return f"arith.muli {x}, {x} : {kind}", Number(dtype, value.exact * value.exact, value.error)
        which = self.pick(["arith.negf", "math.absf", "math.exp", "math.tanh", "math.floor"])
        if which == "math.exp" and (not np.all(value.exact + value.error < 4) or dtype == "f64"):
            which = "math.absf"
        if which == "math.tanh" and dtype == "f64":
            which = "arith.negf"
        text = f"{which} {x} : {kind}"
        if which == "arith.negf":
            return text, value.map(lambda a: a if a is value.error else -a)
        if which == "math.absf":
            return text, Number(dtype, np.abs(value.exact), value.error)
        if which == "math.exp":
            return text, values.exponential(value)
        if which == "math.tanh":
            return text, values.hyperbolic_tangent(value)
        low, high = np.floor(value.exact - value.error), np.floor(value.exact + value.error)
        return text, Number(dtype, np.floor(value.exact), high - low)

    def binary(self, kind, x, y, a, b):
        dtype = a.dtype
        if dtype not in values.FLOATS:
            table = {"addi": lambda p, q: p ^ q if dtype == "i1" else p + q, "andi": np.bitwise_and,
                     "xori": np.bitwise_xor, "maxui" if dtype == "i1" else "maxsi": np.maximum,
                     "minui" if dtype == "i1" else "minsi": np.minimum}
            which = self.pick(list(table))
            return (f"arith.{which} {x}, {y} : {kind}",
                    Number(dtype, table[which](a.exact, b.exact), np.maximum(a.error, b.error)))
        which = self.pick(["addf", "subf", "mulf", "maximumf", "minimumf"])
        result = {"addf": values.add, "subf": lambda p, q: values.add(p, q, -1), "mulf": values.multiply,
                  "maximumf": lambda p, q: values.extreme(p, q, np.maximum),
                  "minimumf": lambda p, q: values.extreme(p, q, np.minimum)}[which](a, b)
        return f"arith.{which} {x}, {y} : {kind}", result

    def expression(self, operands):
        """Returns the lines of a region that combines named operands. Their values share a type and a shape."""
        lines, pool = [], list(operands)
        dtype = pool[0][1].dtype
        for _ in range(int(self.rng.integers(1, 4))):
            if len(pool) == 1 or self.chance(0.3):
                x, value = self.pick(pool)
                text, value = self.unary(dtype, x, value)
            else:
                (x, a), (y, b) = self.pick(pool), self.pick(pool)
                text, value = self.binary(dtype, x, y, a, b)
            name = self.fresh()
            lines.append(f"  {name} = {text}")
            if value.is_tame():
                pool.append((name, value))
        if len(pool) == len(operands):
            name = self.fresh()
            lines.append(f"  {name} = arith.select %true, {pool[0][0]}, {pool[0][0]} : {dtype}")
            pool.append((name, pool[0][1]))
        return lines, pool[-1]

    # Operations. Each returns a node, or None if no operand fits.

    def elementwise(self):
        node = self.node() or self.argument()
        if self.chance(0.3):
            text, value = self.unary(node.type, node.name, node.value)
        else:
            other = self.partner(node)
            text, value = self.binary(node.type, node.name, other.name, node.value, other.value)
        return self.add(text, node.dims, value)

    def spread(self, node, loops, place):
        """Broadcasts the value of a node over the loops. `place[i]` is the loop that iterates over dimension i."""
        shape = [1] * len(loops)
        order = sorted(range(len(place)), key=lambda i: place[i])
        for i in place:
            shape[i] = loops[i].size
        full = [dim.size for dim in loops]
        return node.value.map(lambda array: np.broadcast_to(np.transpose(array, order).reshape(shape), full))

    def inputs(self, first):
        """Chooses loops that read `first` with permuted dimensions, and other nodes that share some of its dimensions.
        Returns the nodes' maps and values."""
        order = [int(i) for i in self.rng.permutation(len(first.dims))]
        loops = [None] * len(order)
        for i, loop in enumerate(order):
            loops[loop] = first.dims[i]
        nodes, places = [first], [order]
        for _ in range(int(self.rng.integers(0, 3))):
            chosen = [int(i) for i in self.rng.permutation(len(loops))][:int(self.rng.integers(0, len(loops) + 1))]
            nodes.append(self.argument(first.dtype, tuple(loops[i] for i in chosen)))
            places.append(chosen)
        return loops, nodes, places, [self.spread(node, loops, place) for node, place in zip(nodes, places)]

    def generic(self, loops, nodes, places, outs, out_places, iterators, names, lines, yields):
        maps = ", ".join(map_of(len(loops), place) for place in places + out_places)
        header = f'linalg.generic {{indexing_maps = [{maps}], iterator_types = [{", ".join(iterators)}]}}'
        if nodes:
            header += f" ins({', '.join(node.name for node in nodes)} : {', '.join(node.type for node in nodes)})"
        types = [kind for _, kind in outs]
        header += f" outs({', '.join(name for name, _ in outs)} : {', '.join(types)}) {{"
        scalars = [node.dtype for node in nodes] + [ELEMENT.match(kind)[1] for kind in types]
        result = self.fresh()
        self.lines.append(f"{result}{f':{len(outs)}' if len(outs) > 1 else ''} = {header}")
        self.lines.append(f"^bb0({', '.join(f'{name}: {kind}' for name, kind in zip(names, scalars))}):")
        self.lines += lines
        self.lines.append(f"  linalg.yield {', '.join(yields)} : {', '.join(scalars[len(nodes):])}")
        self.lines.append(f"}} -> {types[0]}" if len(outs) == 1 else f"}} -> ({', '.join(types)})")
        return result

    def body(self):
        """Adds an elementwise operation with permuted results. Some expressions use loop indices."""
        first = self.node() or self.argument()
        loops, nodes, places, spread = self.inputs(first)
        names = [self.fresh() for _ in nodes]
        operands, extra = list(zip(names, spread)), []
        if loops and first.dtype in ("f32", "i32") and self.chance(0.3):
            loop = int(self.rng.integers(len(loops)))
            index, number = self.fresh(), self.fresh()
            extra = [f"  {index} = linalg.index {loop} : index", f"  {number} = arith.index_cast {index} : index to i32"]
            shape = [dim.size if i == loop else 1 for i, dim in enumerate(loops)]
            steps = np.broadcast_to(np.arange(loops[loop].size).reshape(shape), [dim.size for dim in loops])
            if first.dtype == "f32":
                extra.append(f"  {number}f = arith.sitofp {number} : i32 to f32")
                operands.append((number + "f", Number.of("f32", steps.astype(np.float64))))
            else:
                operands.append((number, Number.of("i32", steps.astype(np.int32))))
        lines, (result, value) = self.expression(operands)
        yields, results, out_places = [result], [value], []
        if self.chance(0.3):
            more, (second, other) = self.expression(operands + [(result, value)])
            lines += more
            yields.append(second)
            results.append(other)
        outs, dims = [], []
        for _ in yields:
            out_places.append([int(i) for i in self.rng.permutation(len(loops))])
            dims.append(tuple(loops[i] for i in out_places[-1]))
            outs.append((self.empty(first.dtype, dims[-1]), type_of(first.dtype, dims[-1])))
            names.append(self.fresh())
        name = self.generic(loops, nodes, places, outs, out_places, ['"parallel"'] * len(loops), names, extra + lines,
                            yields)
        made = [Node(f"{name}#{i}" if len(outs) > 1 else name, dims[i],
                     value.map(lambda array, i=i: np.transpose(array, out_places[i])))
                for i, value in enumerate(results)]
        self.nodes += [node for node in made[1:] if node.value.is_tame()]
        return made[0]

    def body_outs(self):
        """Adds an elementwise operation with a body reading `outs`."""
        node = self.node() or self.argument()
        out = self.partner(node)
        names = [self.fresh(), self.fresh()]
        lines, (result, value) = self.expression(list(zip(names, [node.value, out.value])))
        place = list(range(len(node.dims)))
        name = self.generic(node.dims, [node], [place], [(out.name, out.type)], [place], ['"parallel"'] * len(place),
                            names, lines, [result])
        return Node(name, node.dims, value)

    def combined(self, value, axes, first):
        """Adds a sum, maximum or product of integers or floats along axes, with an initial value."""
        dtype = value.dtype
        if dtype in values.FLOATS:
            if self.chance(0.5):
                # The sum starts with the initial value, and every addition rounds.
                steps = values.rounded(dtype, first.exact, first.error, int(np.prod(np.array(value.shape)[list(axes)])))
                return "addf", values.add(values.total(value, tuple(axes)), steps)
            extreme = self.pick(["maximumf", "minimumf"])
            function = np.maximum if extreme == "maximumf" else np.minimum
            initial = -np.inf if extreme == "maximumf" else np.inf
            best = function.reduce(value.exact, axis=axes, initial=initial)
            return extreme, Number(dtype, function(best, first.exact),
                                   np.maximum(np.max(value.error, axis=axes, initial=0.0), first.error))
        error = np.maximum(np.max(value.error, axis=axes, initial=0.0), first.error)
        if dtype == "i1":
            return "ori", Number(dtype, np.logical_or.reduce(value.exact, axis=axes) | first.exact, error)
        with np.errstate(over="ignore"):
            return "addi", Number(dtype, np.sum(value.exact, axis=axes, dtype=value.exact.dtype) + first.exact, error)

    def reduction(self):
        """Adds a linalg.generic that reduces along any of its loops, in any order, and accumulates into `outs`."""
        first = self.node(lambda it: it.dims) or self.argument()
        loops, nodes, places, spread = self.inputs(first)
        axes = sorted(int(i) for i in range(len(loops)) if self.chance(0.5))
        kept = [i for i in range(len(loops)) if i not in axes]
        place = [kept[int(i)] for i in self.rng.permutation(len(kept))]
        dims = tuple(loops[i] for i in place)
        names = [self.fresh() for _ in nodes]
        lines, (element, value) = self.expression(list(zip(names, spread)))
        out = self.argument(first.dtype, dims) if self.chance(0.5) else Node(
            self.filled(first.dtype, dims, 0), dims, Number.of(
                first.dtype, np.zeros([dim.size for dim in dims],
                                      np.float64 if first.dtype in values.FLOATS else values.INTEGERS[first.dtype])))
        back = self.spread(out, loops, place).map(
            lambda array: array[tuple(0 if i in axes else slice(None) for i in range(len(loops)))]) \
            if all(loops[i].size for i in axes) else Number(
                first.dtype, np.transpose(out.value.exact, np.argsort(place)), np.zeros([loops[i].size for i in kept]))
        kind, total = self.combined(value, tuple(axes), back)
        accumulator, result = self.fresh(), self.fresh()
        lines.append(f"  {result} = arith.{kind} {element}, {accumulator} : {first.dtype}")
        iterators = ['"reduction"' if i in axes else '"parallel"' for i in range(len(loops))]
        name = self.generic(loops, nodes, places, [(out.name, out.type)], [place], iterators, names + [accumulator],
                            lines, [result])
        return Node(name, dims, total.map(lambda array: np.transpose(array, [kept.index(i) for i in place])))

    def named_reduction(self):
        node = self.node(lambda it: it.dims and it.dtype == "f32" and it.value.exact.size) or self.argument("f32")
        if not node.dims or not node.value.exact.size:
            return None
        axes = [i for i in range(len(node.dims)) if self.chance(0.5)] or [0]
        dims = tuple(dim for i, dim in enumerate(node.dims) if i not in axes)
        which = self.pick(["addf", "maximumf"] + ["mulf"] * int(np.prod([node.dims[i].size for i in axes]) < 20))
        start = {"addf": 0.0, "mulf": 1.0, "maximumf": -1.0}[which]
        value = {"addf": lambda: values.total(node.value, tuple(axes)),
                 "mulf": lambda: values.product(node.value, axes),
                 "maximumf": lambda: Number("f32", np.maximum(np.max(node.value.exact, axis=tuple(axes)), -1.0),
                                            np.max(node.value.error, axis=tuple(axes)))}[which]()
        out, kind = self.filled("f32", dims, start), type_of("f32", dims)
        return self.add(f"linalg.reduce {{ arith.{which} }} ins({node.name} : {node.type}) outs({out} : {kind}) "
                        f"dimensions = [{', '.join(map(str, axes))}]", dims, value)

    def transpose(self):
        node = self.node(lambda it: it.dims)  # upstream's verifier crashes on rank 0
        if not node:
            return None
        order = [int(i) for i in self.rng.permutation(len(node.dims))]
        dims = tuple(node.dims[i] for i in order)
        out = self.empty(node.dtype, dims)
        return self.add(f"linalg.transpose ins({node.name} : {node.type}) outs({out} : {type_of(node.dtype, dims)}) "
                        f"permutation = [{', '.join(map(str, order))}]", dims,
                        node.value.map(lambda array: np.transpose(array, order)))

    def broadcast(self):
        node = self.node(lambda it: len(it.dims) < 4 and it.value.exact.size < 2000) or self.argument("f32")
        place = int(self.rng.integers(len(node.dims) + 1))
        new = self.pick([Dim(self.pick(SIZES[:5]))] + [dim for dim in node.dims if dim.name])
        dims = node.dims[:place] + (new,) + node.dims[place:]
        out = self.empty(node.dtype, dims)
        shape = [dim.size for dim in dims]
        return self.add(f"linalg.broadcast ins({node.name} : {node.type}) outs({out} : {type_of(node.dtype, dims)}) "
                        f"dimensions = [{place}]", dims,
                        node.value.map(lambda array: np.broadcast_to(np.expand_dims(array, place), shape)))

    def pad(self):
        node = self.node(lambda it: it.dims and it.dtype != "i1")
        if not node:
            return None
        low = [int(self.rng.integers(0, 3)) for _ in node.dims]
        high = [int(self.rng.integers(0, 3)) for _ in node.dims]
        dims = tuple(self.sum_of([dim, Dim(a + b)]) if a + b else dim for dim, a, b in zip(node.dims, low, high))
        number = self.pick([0, 1, -3])
        constant = self.constant(node.dtype, number)
        places = ", ".join(f"%p{i}_{self.count}: index" for i in range(len(dims)))
        result = self.fresh()
        body = f" {{\n^bb0({places}):\n  tensor.yield {constant} : {node.dtype}\n}}"
        self.lines.append(f"{result} = tensor.pad {node.name} low[{', '.join(map(str, low))}] "
                          f"high[{', '.join(map(str, high))}]{body} : {node.type} to {type_of(node.dtype, dims)}")
        widths = list(zip(low, high))
        return Node(result, dims, Number(node.dtype, np.pad(node.value.exact, widths, constant_values=number),
                                         np.pad(node.value.error, widths)))

    def part(self, dims):
        """Chooses offsets, sizes and strides of a slice. Also returns equivalent NumPy slices and the dimensions of the
        result. Some dimensions of size 1 are dropped from the result."""
        offsets, sizes, steps, selected, result = [], [], [], [], []
        drops = self.chance(0.5)
        for dim in dims:
            step = self.pick([1, 1, 1, 2, 3])
            count = int(self.rng.integers(1, (dim.size - 1) // step + 2)) if dim.size else 0
            if drops and dim.size and self.chance(0.5):
                count = 1
            first = int(self.rng.integers(0, dim.size - (count - 1) * step)) if dim.size else 0
            offsets.append(self.index(first) if self.chance(0.2) else str(first))
            sizes.append(str(count))
            steps.append(str(step))
            selected.append(slice(first, first + count * step, step))
            if not (drops and count == 1 and self.chance(0.5)):
                result.append(Dim(count))
        return (f"[{', '.join(offsets)}] [{', '.join(sizes)}] [{', '.join(steps)}]", tuple(selected), tuple(result))

    def slice(self):
        node = self.node(lambda it: it.dims and it.value.exact.size) or self.argument()
        if not node.dims or not node.value.exact.size:
            return None
        text, selected, dims = self.part(node.dims)
        return self.add(f"tensor.extract_slice {node.name}{text} : {node.type} to {type_of(node.dtype, dims)}", dims,
                        node.value.map(lambda array: array[selected].reshape([dim.size for dim in dims])))

    def insert(self):
        node = self.node(lambda it: it.dims and it.value.exact.size) or self.argument()
        if not node.dims or not node.value.exact.size:
            return None
        text, selected, dims = self.part(node.dims)
        source = self.argument(node.dtype, dims)

        def put(array, part):
            array = np.array(array)
            array[selected] = np.reshape(part, array[selected].shape)
            return array

        value = Number(node.dtype, put(node.value.exact, source.value.exact), put(node.value.error, source.value.error))
        return self.add(f"tensor.insert_slice {source.name} into {node.name}{text} : {source.type} into {node.type}",
                        node.dims, value)

    def concat(self):
        node = self.node(lambda it: it.dims) or self.argument()
        if not node.dims:
            return None
        axis = int(self.rng.integers(len(node.dims)))
        other = tuple(Dim(self.pick(SIZES[:5])) if i == axis else dim for i, dim in enumerate(node.dims))
        parts = [node, self.argument(node.dtype, other)] + ([node] if self.chance(0.3) else [])
        dims = tuple(self.sum_of([part.dims[axis] for part in parts]) if i == axis else dim
                     for i, dim in enumerate(node.dims))
        value = Number(node.dtype, np.concatenate([part.value.exact for part in parts], axis),
                       np.concatenate([part.value.error for part in parts], axis))
        return self.add(f"tensor.concat dim({axis}) {', '.join(part.name for part in parts)} : "
                        f"({', '.join(part.type for part in parts)}) -> {type_of(node.dtype, dims)}", dims, value)

    def collapse(self):
        node = self.node(lambda it: len(it.dims) >= 2) or None
        if not node:
            return None
        at = int(self.rng.integers(len(node.dims) - 1))
        a, b = node.dims[at:at + 2]
        size = Dim(a.size * b.size)
        if a.name or b.name:
            size = Dim(size.size, self.say(f"arith.muli {self.name_of(a)}, {self.name_of(b)} : index"))
        dims = node.dims[:at] + (size,) + node.dims[at + 2:]
        groups = [[i] for i in range(at)] + [[at, at + 1]] + [[i] for i in range(at + 2, len(node.dims))]
        shape = [dim.size for dim in dims]
        return self.add(f"tensor.collapse_shape {node.name} {groups} : {node.type} into {type_of(node.dtype, dims)}",
                        dims, node.value.map(lambda array: array.reshape(shape)))

    def expand(self):
        node = self.node(lambda it: it.dims and len(it.dims) < 4)
        if not node:
            return None
        at = int(self.rng.integers(len(node.dims)))
        dim = node.dims[at]
        factor = self.pick([f for f in (1, 2, 3, 5) if dim.size % f == 0])
        outer = Dim(dim.size // factor)
        if dim.name:
            outer = Dim(outer.size, self.say(f"arith.divui {dim.name}, {self.index(factor)} : index"))
        dims = node.dims[:at] + (outer, Dim(factor)) + node.dims[at + 1:]
        groups = [[i] for i in range(at)] + [[at, at + 1]] + [[i + 1] for i in range(at + 1, len(node.dims))]
        sizes = ", ".join(d.name or str(d.size) for d in dims)
        shape = [d.size for d in dims]
        return self.add(f"tensor.expand_shape {node.name} {groups} output_shape [{sizes}] : {node.type} into "
                        f"{type_of(node.dtype, dims)}", dims, node.value.map(lambda array: array.reshape(shape)))

    def softmax(self):
        node = self.node(lambda it: it.dims and it.dtype == "f32" and it.value.exact.size)
        if not node or np.max(node.value.error) > 1e-3 or np.max(np.abs(node.value.exact)) > 60:
            return None
        axis = int(self.rng.integers(len(node.dims)))
        x = node.value
        top = np.max(x.exact, axis=axis, keepdims=True)
        shifted = values.add(x, Number("f32", top, np.max(x.error, axis=axis, keepdims=True)), -1)
        powers = values.exponential(shifted)
        sums = values.total(powers, (axis,))
        value = values.divide(powers, sums.map(lambda array: np.expand_dims(array, axis)))
        out = self.empty("f32", node.dims)
        return self.add(f"linalg.softmax dimension({axis}) ins({node.name} : {node.type}) outs({out} : {node.type}) "
                        f"-> {node.type}", node.dims, value)

    def add_matmul(self, name, batch):
        node = self.node(lambda it: len(it.dims) == 2 + batch and it.dtype in ("f32", "bf16", "f16")
                         and np.all(np.abs(it.value.exact) < 1e3)) or None
        if not node:
            return None
        dims = node.dims[:batch] + (node.dims[-1], Dim(self.pick(SIZES)))
        other = self.argument(node.dtype, dims)
        result = node.dims[:-1] + (dims[-1],)
        out, kind = self.filled("f32", result, 0), type_of("f32", result)
        return self.add(f"linalg.{name} ins({node.name}, {other.name} : {node.type}, {other.type}) outs({out} : {kind}) "
                        f"-> {kind}", result, values.contract(node.value, other.value))

    def matmul(self):
        return self.add_matmul("matmul", 0)

    def batch_matmul(self):
        return self.add_matmul("batch_matmul", 1)

    def convert(self):
        node = self.node() or self.argument()
        tables = {"f32": [("truncf", "bf16"), ("truncf", "f16"), ("extf", "f64")], "f64": [("truncf", "f32")],
                  "bf16": [("extf", "f32")], "f16": [("extf", "f32")], "i1": [("extui", "i32"), ("uitofp", "f32")],
                  "i8": [("extsi", "i32"), ("sitofp", "f32")], "i16": [("extsi", "i32"), ("sitofp", "f32")],
                  "i32": [("trunci", "i8"), ("extsi", "i64"), ("sitofp", "f32")],
                  "i64": [("trunci", "i32"), ("sitofp", "f64"), ("index_cast", "index")],
                  "index": [("index_cast", "i64"), ("index_cast", "i32")]}
        which, dtype = self.pick(tables[node.dtype])
        return self.add(f"arith.{which} {node.name} : {node.type} to {type_of(dtype, node.dims)}", node.dims,
                        values.convert(node.value, dtype))

    def compare(self):
        """Adds a comparison, and a select with its result as the condition."""
        node = self.node(lambda it: it.dtype != "i1") or self.argument("f32")
        other = self.partner(node)
        which = "cmpf olt" if node.dtype in values.FLOATS else "cmpi slt"
        name = self.say(f"arith.{which}, {node.name}, {other.name} : {node.type}")
        condition = Node(name, node.dims, values.less(node.value, other.value))
        if self.chance(0.3):
            return condition
        a, b = self.partner(node), self.partner(node)
        kind = type_of("i1", node.dims)
        return self.add(f"arith.select {name}, {a.name}, {b.name} : {kind}, {node.type}", node.dims,
                        values.select(condition.value, a.value, b.value))

    def fill(self):
        node = self.node(lambda it: it.dtype != "i1") or self.argument("f32")
        number = self.pick([0, 1, -2])
        kind = np.float64 if node.dtype in values.FLOATS else values.INTEGERS[node.dtype]
        return Node(self.filled(node.dtype, node.dims, number), node.dims,
                    Number.of(node.dtype, np.full([dim.size for dim in node.dims], number, kind)))

    def splat(self):
        """Adds an operation with a splat constant operand."""
        node = self.node(lambda it: it.dtype != "i1" and not any(dim.name for dim in it.dims))
        if not node:
            return None
        number = self.pick([1, 2, -3])
        kind = np.float64 if node.dtype in values.FLOATS else values.INTEGERS[node.dtype]
        constant = self.say(f"arith.constant dense<{number_text(node.dtype, number)}> : {node.type}")
        other = Number.of(node.dtype, np.full(node.value.shape, number, kind))
        text, value = self.binary(node.type, node.name, constant, node.value, other)
        return self.add(text, node.dims, value)

    def generate(self):
        node = self.node(lambda it: it.dims) or self.argument("f32")
        if not node.dims:
            return None
        sizes = ", ".join(dim.name for dim in node.dims if dim.name)
        kind = type_of("i32", node.dims)
        names = [f"%g{i}_{self.count}" for i in range(len(node.dims))]
        axis = int(self.rng.integers(len(names)))
        result, number = self.fresh(), self.fresh()
        self.lines.append(f"{result} = tensor.generate {sizes} {{\n^bb0({', '.join(f'{n}: index' for n in names)}):\n"
                          f"  {number} = arith.index_cast {names[axis]} : index to i32\n"
                          f"  tensor.yield {number} : i32\n}} : {kind}")
        shape = [1] * len(names)
        shape[axis] = node.dims[axis].size
        steps = np.arange(shape[axis], dtype=np.int32).reshape(shape)
        return Node(result, node.dims, Number.of("i32", np.broadcast_to(steps, [dim.size for dim in node.dims])))

    def named(self):
        node = self.node(lambda it: it.dtype == "f32") or self.argument("f32")
        out = self.empty("f32", node.dims)
        which = self.pick(["add", "sub", "mul", "max", "copy", "abs"])
        if which in ("copy", "abs"):
            value = node.value if which == "copy" else Number("f32", np.abs(node.value.exact), node.value.error)
            return self.add(f"linalg.{which} ins({node.name} : {node.type}) outs({out} : {node.type}) -> {node.type}",
                            node.dims, value)
        other = self.partner(node)
        a, b = node.value, other.value
        value = {"add": lambda: values.add(a, b), "sub": lambda: values.add(a, b, -1),
                 "mul": lambda: values.multiply(a, b), "max": lambda: values.extreme(a, b, np.maximum)}[which]()
        return self.add(f"linalg.{which} ins({node.name}, {other.name} : {node.type}, {other.type}) "
                        f"outs({out} : {node.type}) -> {node.type}", node.dims, value)

    def window(self):
        """Adds a windowed sum. Its map adds two loop indices."""
        node = self.node(lambda it: len(it.dims) == 1 and it.dtype == "f32" and it.dims[0].size >= 5
                         and not it.dims[0].name)
        if not node:
            return None
        taps = self.argument("f32", (Dim(3),))
        dims = (Dim(node.dims[0].size - 2),)
        parts = np.stack([np.arange(dims[0].size) + i for i in range(3)], axis=1)
        value = values.contract(Number("f32", node.value.exact[parts], node.value.error[parts]),
                                taps.value.map(lambda array: array.reshape(3, 1)))
        out, kind = self.filled("f32", dims, 0), type_of("f32", dims)
        return self.add(f"linalg.conv_1d ins({node.name}, {taps.name} : {node.type}, {taps.type}) outs({out} : {kind}) "
                        f"-> {kind}", dims, value.map(lambda array: array.reshape(-1)))

    def insert_element(self):
        node = self.node(lambda it: it.value.exact.size and it.dtype in ("f32", "i32"))
        if not node:
            return None
        place = [int(self.rng.integers(dim.size)) for dim in node.dims]
        exact, error = np.array(node.value.exact), np.array(node.value.error)
        exact[tuple(place)], error[tuple(place)] = 3, 0
        constant = self.constant(node.dtype, 3)
        indices = ", ".join(self.index(i) for i in place)
        return self.add(f"tensor.insert {constant} into {node.name}[{indices}] : {node.type}", node.dims,
                        Number(node.dtype, exact, error))

    # Whole program

    def grow(self, seed):
        """Adds the graph that `seed` determines."""
        self.rng, self.nodes = np.random.default_rng(seed), []
        count = int(self.rng.integers(3, 13))
        while count or not self.nodes:
            with np.errstate(all="ignore"):
                node = self.pick(self.operations)()
            if node is None:
                continue
            count = max(count - 1, 0)
            if node.value.is_tame() and node.value.exact.size < 20000:
                self.nodes.append(node)
        results = self.nodes[-1:] + [self.pick(self.nodes) for _ in range(2)]
        self.results += {node.name: node for node in results}.values()

    def program(self):
        """Returns the text, the arguments and the results. A result is a pair of a type name and a number."""
        results = self.results
        parameters = ", ".join(f"%a{i}: {kind}" for i, (kind, _) in enumerate(self.arguments))
        types = ", ".join(node.type for node in results)
        lines = "".join(f"  {line}\n" for text in self.lines for line in text.split("\n"))
        text = (f"func.func @main({parameters}) -> ({types}) {{\n  %true = arith.constant true\n{lines}"
                f"  return {', '.join(node.name for node in results)} : {types}\n}}\n")
        return text, [array for _, array in self.arguments], [node.value for node in results]
