"""Mutations for kernels with operands in registers: operands of mma.sync, loads of its fragments, and source addresses
of copies."""

import random

from .mutant import Mutant, in_scope

# Of more unrolled instructions, a random sample of this size is mutated.
MOST = 16


def some(statements):
    return random.Random(0).sample(statements, min(len(statements), MOST))


def registers_of(operand):
    return [name.strip() for name in operand[1:-1].split(",")]


def with_operands(source, s, new):
    """Replaces some operands of a statement. `new` maps operand numbers to new texts."""
    operands = [new.get(k, o) for k, o in enumerate(s.operands)]
    return source.replace(s, in_scope(s, "", "", operands))


def multiplications(source):
    return some([s for s in source.statements if s.starts("mma.sync")])


def exchanges(source, s, name, k, pairs):
    """Exchanges pairs of registers of a vector operand."""
    for i, j in pairs:
        names = registers_of(s.operands[k])
        names[i], names[j] = names[j], names[i]
        ptx = with_operands(source, s, {k: "{" + ", ".join(names) + "}"})
        yield Mutant("registers", s.line, f"{name}: registers {i} and {j} exchanged", s, ptx)


def operands(source):
    """Exchanges registers of A, B and the accumulators, and replaces accumulators with zeros."""
    for s in multiplications(source):
        yield from exchanges(source, s, "A", 1, ((0, 1), (0, 2), (1, 3), (2, 3)))
        yield from exchanges(source, s, "B", 2, ((0, 1),))
        yield from exchanges(source, s, "accumulators", 3, ((0, 1), (0, 2)))
        zeros = ", ".join(["0f00000000"] * len(registers_of(s.operands[3])))
        ptx = with_operands(source, s, {3: "{" + zeros + "}"})
        yield Mutant("sums", s.line, "from zero", s, ptx)


# PTX ISA, mma.sync with block scales. A selector chooses the byte of the scale register and the thread of the quad that
# provides the scales. The selector for A chooses a pair of threads.
SELECTORS = (("A", 5, 0, "byte"), ("A", 5, 1, "thread"), ("B", 7, 0, "byte"), ("B", 7, 1, "thread"))


def selectors(source):
    for s in multiplications(source):
        if not s.has("block_scale"):
            continue
        for name, k, place, what in SELECTORS:
            for flip in (1, 2, 3):
                names = registers_of(s.operands[k])
                change = f"xor.b16 %mutant, {names[place]}, {flip};"
                names[place] = "%mutant"
                new = list(s.operands)
                new[k] = "{" + ", ".join(names) + "}"
                ptx = source.replace(s, in_scope(s, ".reg .b16 %mutant;", change, new))
                yield Mutant("selector", s.line, f"{what} of {name} xor {flip}", s, ptx)
        names = {4: s.operands[6], 6: s.operands[4]}
        ptx = with_operands(source, s, names)
        yield Mutant("selector", s.line, "scales of A and B exchanged", s, ptx)


def addresses(source):
    """Reads fragments and scales from other addresses of shared memory."""
    if not multiplications(source):
        return
    for s in some([s for s in source.statements if s.starts("ldmatrix", "ld.shared")]):
        if s.starts("ldmatrix"):
            count = len(registers_of(s.operands[0]))
            yield from exchanges(source, s, "matrices", 0, ((k, k + 1) for k in range(count - 1)))
        step = 16 if s.starts("ldmatrix") else 4
        base, _, offset = s.operands[1][1:-1].partition("+")
        for change in (step, -step):
            new = f"[{base}{int(offset or 0) + change:+}]"
            ptx = with_operands(source, s, {1: new})
            yield Mutant("address", s.line, f"{s.opcode}: address {change:+}", s, ptx)


def coordinates(source):
    """Changes the coordinates of tensor copies by one in each dimension."""
    for s in source.statements:
        if not s.starts("cp.async.bulk.tensor"):
            continue
        k = next(k for k, o in enumerate(s.operands) if "{" in o)
        head, _, rest = s.operands[k].partition("{")
        names = [name.strip() for name in rest.rstrip("}] ").split(",")]
        for d, name in enumerate(names):
            changed = names[:d] + ["%mutant"] + names[d + 1 :]
            new = list(s.operands)
            new[k] = head + "{" + ", ".join(changed) + "}]"
            change = f"add.s32 %mutant, {name}, 1;"
            ptx = source.replace(s, in_scope(s, ".reg .b32 %mutant;", change, new))
            what = f"{s.operands[k].split(',')[0].strip('[]')}: coordinate {d} + 1"
            yield Mutant("coordinate", s.line, what, s, ptx)


MAKERS = (operands, selectors, addresses, coordinates)
