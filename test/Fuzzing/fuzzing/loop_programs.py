"""Random programs with loops and branches around tensors: text, arguments and expected results.

The programs test buffer placement, so their computation is simple and exact. They contain loops that carry and exchange
several tensors, branches that yield arguments, slices that overlap their destination, and in-place operations."""

import numpy as np

from .tensor_values import Number

SIZE = 7
TYPE = "tensor<?xf32>"
MAP = "affine_map<(i) -> (i)>"


def types(count):
    return ", ".join([TYPE] * count)


class LoopPrograms:
    """Generator for programs with loops. As in Graphs, one function contains several independent programs."""

    def __init__(self):
        self.rng, self.count = None, 0
        self.lines, self.arguments, self.results = [], [], []

    def fresh(self):
        self.count += 1
        return f"%v{self.count}"

    def pick(self, choices):
        return choices[int(self.rng.integers(len(choices)))]

    def below(self, limit):
        return int(self.rng.integers(limit))

    # Statements. Each method returns the statement's lines, the names of its results, and a function that computes the
    # results from named values.

    def add(self, names, _):
        a, b, result = self.pick(names), self.pick(names), self.fresh()
        return [f"{result} = arith.addf {a}, {b} : {TYPE}"], [result], lambda values: [values[a] + values[b]]

    def in_place(self, names, _):
        a, b, result, x, y, z = self.pick(names), self.pick(names), *(self.fresh() for _ in range(4))
        lines = [f'{result} = linalg.generic {{indexing_maps = [{MAP}, {MAP}], iterator_types = ["parallel"]}} '
                 f"ins({a} : {TYPE}) outs({b} : {TYPE}) {{", f"^bb0({x}: f32, {y}: f32):",
                 f"  {z} = arith.subf {y}, {x} : f32", f"  linalg.yield {z} : f32", f"}} -> {TYPE}"]
        return lines, [result], lambda values: [values[b] - values[a]]

    def move(self, names, _):
        """Copies a slice of a tensor into the same or another tensor."""
        size = 1 + self.below(SIZE - 1)
        first, to = self.below(SIZE - size + 1), self.below(SIZE - size + 1)
        a, b, part, result = self.pick(names), self.pick(names), self.fresh(), self.fresh()
        kind = f"tensor<{size}xf32>"

        def run(values):
            array = values[b].copy()
            array[to:to + size] = values[a][first:first + size]
            return [array]

        return [f"{part} = tensor.extract_slice {a}[{first}] [{size}] [1] : {TYPE} to {kind}",
                f"{result} = tensor.insert_slice {part} into {b}[{to}] [{size}] [1] : {kind} into {TYPE}"], [result], run

    def reverse(self, names, _):
        """Reverses a tensor in a region that reads arbitrary elements of the tensor."""
        a, empty, result, old, i, j, v = self.pick(names), *(self.fresh() for _ in range(6))
        lines = [f"{empty} = tensor.empty(%size) : {TYPE}",
                 f'{result} = linalg.generic {{indexing_maps = [{MAP}], iterator_types = ["parallel"]}} outs({empty} : {TYPE}) {{',
                 f"^bb0({old}: f32):", f"  {i} = linalg.index 0 : index", f"  {j} = arith.subi %last, {i} : index",
                 f"  {v} = tensor.extract {a}[{j}] : {TYPE}", f"  linalg.yield {v} : f32", f"}} -> {TYPE}"]
        return lines, [result], lambda values: [values[a][::-1]]

    def loop(self, names, indices):
        count, trips = 1 + self.below(3), self.below(4)
        initial = [self.pick(names) for _ in range(count)]
        carried, index, result, end = [self.fresh() for _ in range(count)], self.fresh(), self.fresh(), self.fresh()
        body, inside, run_body = self.block(names + carried, indices + [index])
        yielded = [self.pick(inside[-3:] + carried + names[-1:]) for _ in range(count)]
        pairs = ", ".join(f"{name} = {value}" for name, value in zip(carried, initial))

        def run(values):
            current = [values[name] for name in initial]
            for i in range(trips):
                inner = {**values, **dict(zip(carried, current)), index: i}
                run_body(inner)
                current = [inner[name] for name in yielded]
            return current

        lines = [f"{end} = arith.constant {trips} : index",
                 f"{result}:{count} = scf.for {index} = %c0 to {end} step %c1 iter_args({pairs}) -> ({types(count)}) {{",
                 *("  " + line for line in body), f"  scf.yield {', '.join(yielded)} : {types(count)}", "}"]
        return lines, [f"{result}#{i}" for i in range(count)], run

    def branch(self, names, indices):
        """Creates a branch on a flag, or on whether an iteration number is even."""
        count, index = 1 + self.below(2), self.pick(indices + [None])
        rest, even, result = self.fresh(), self.fresh(), self.fresh()
        condition = even if index else self.flag
        parts = []
        for _ in range(2):
            body, inside, run = self.block(names, indices)
            parts.append((body, [self.pick(inside) for _ in range(count)], run))

        def run(values):
            chosen = values[index] % 2 == 0 if index else values[self.flag]
            _, yielded, run_body = parts[0 if chosen else 1]
            inner = dict(values)
            run_body(inner)
            return [inner[name] for name in yielded]

        lines = [f"{rest} = arith.remui {index}, %c2 : index", f"{even} = arith.cmpi eq, {rest}, %c0 : index"] if index else []
        lines.append(f"{result}:{count} = scf.if {condition} -> ({types(count)}) {{")
        for i, (body, yielded, _) in enumerate(parts):
            lines += ["} else {"] * i + ["  " + line for line in body] + [f"  scf.yield {', '.join(yielded)} : {types(count)}"]
        return lines + ["}"], [f"{result}#{i}" for i in range(count)], run

    def block(self, names, indices):
        """Creates statements. Returns their lines, the names visible after them, and a function that runs them."""
        self.depth += 1
        choices = [self.add, self.add, self.in_place, self.move, self.move, self.reverse]
        choices += [self.loop, self.branch] * (self.depth < 4)
        names, lines, steps = list(names), [], []
        for _ in range(1 + self.below(4)):
            text, results, run = self.pick(choices)(names, indices)
            lines, names = lines + text, names + results
            steps.append((results, run))
        self.depth -= 1

        def run_all(values):
            for results, run in steps:
                values.update(zip(results, run(values)))

        return lines, names, run_all

    # Whole program

    def grow(self, seed):
        self.rng, self.depth = np.random.default_rng(seed), 0
        first = len(self.arguments)
        self.flag, *names = [f"%a{first + i}" for i in range(3)]
        flag = np.bool_(self.below(2))
        arrays = [self.rng.integers(-3, 4, SIZE).astype(np.float32) for _ in names]
        self.arguments += [("i1", flag), *((TYPE, array) for array in arrays)]
        lines, made, run = self.block(names, [])
        values = {self.flag: bool(flag), **dict(zip(names, arrays))}
        run(values)
        self.lines += lines
        for name in dict.fromkeys([self.pick(made[-4:]), self.pick(made[-4:]), self.pick(made)]):
            self.results.append((name, Number.of("f32", values[name].astype(np.float64))))

    def program(self):
        """Returns the text, the arguments and the results. A result is a pair of a type name and a number."""
        parameters = ", ".join(f"%a{i}: {kind}" for i, (kind, _) in enumerate(self.arguments))
        head = [f"%c{i} = arith.constant {i} : index" for i in range(3)]
        head += [f"%size = tensor.dim %a1, %c0 : {TYPE}", "%last = arith.subi %size, %c1 : index"]
        lines = "".join(f"  {line}\n" for line in head + self.lines)
        kinds = types(len(self.results))
        text = (f"func.func @main({parameters}) -> ({kinds}) {{\n{lines}"
                f"  return {', '.join(name for name, _ in self.results)} : {kinds}\n}}\n")
        return text, [array for _, array in self.arguments], [value for _, value in self.results]
