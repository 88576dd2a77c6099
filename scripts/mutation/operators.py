"""What is changed: one small mistake at a time, as people make them."""

import dataclasses
import typing


@dataclasses.dataclass
class Mutant:
    operator: str  # delete, parity, bytes, ...
    line: int  # of the PTX; 0: the launch file
    what: str  # "tcgen05.fence::after_thread_sync", "A: SBO x 2"
    statement: object = None
    ptx: str = None
    map: str = None  # of the launch file, that `edit` changes
    edit: typing.Callable = None
    kernel: str = None  # of the statement


# Synchronisation that is deleted. Waits by test have a result, see below.
DELETED = [
    "fence",
    "membar",
    "bar",
    "barrier",
    "mbarrier.arrive",
    "mbarrier.arrive_drop",
    "mbarrier.expect_tx",
    "mbarrier.try_wait",
    "mbarrier.test_wait",
    "cp.async.mbarrier.arrive",
    "cp.async.commit_group",
    "cp.async.wait_group",
    "cp.async.wait_all",
    "cp.async.bulk.commit_group",
    "cp.async.bulk.wait_group",
    "tcgen05.commit",
    "tcgen05.wait::ld",
    "tcgen05.wait::st",
    "tcgen05.fence::before_thread_sync",
    "tcgen05.fence::after_thread_sync",
    "wgmma.fence",
    "wgmma.commit_group",
    "wgmma.wait_group",
    "griddepcontrol.wait",
]
TESTS = ["mbarrier.try_wait", "mbarrier.test_wait"]


def name_of(statement):
    """The opcode without what only says where its operands are."""
    noise = {"shared", "b64", "b32", "sync", "aligned", "global", "tile"}
    return ".".join(m for m in statement.opcode.split(".") if m not in noise)


def in_scope(statement, registers, before, operands):
    """The statement with other operands, computed in a scope of its own."""
    new = f"{{ {registers} {before} "
    new += f"{statement.predicate} {statement.opcode} " + ", ".join(operands) + "; }"
    return new


def delete(source):
    for s in source.statements:
        if not s.starts(*DELETED):
            continue
        text = ""
        if s.starts(*TESTS):
            text = f"{s.predicate} mov.pred {s.operands[0]}, 1;"
        # A label may need something to stand before.
        text = text or "{ .reg .b32 %mutant; mov.b32 %mutant, 0; }"
        yield Mutant("delete", s.line, name_of(s), s, source.replace(s, text))


def with_operand(source, s, k, bits, instruction):
    """Operand k goes through `instruction` first."""
    new = list(s.operands)
    before = instruction.format(to="%mutant", value=new[k])
    new[k] = "%mutant"
    scratch = f".reg .b{bits} %mutant, %mutant1, %mutant2;"
    return source.replace(s, in_scope(s, scratch, before, new))


def parity(source):
    for s in source.statements:
        if s.starts(*TESTS) and s.has("parity"):
            ptx = with_operand(source, s, 2, 32, "xor.b32 {to}, {value}, 1;")
            yield Mutant("parity", s.line, name_of(s), s, ptx)


def expected_bytes(source):
    changes = {
        "+ 16": "add.u32 {to}, {value}, 16;",
        "- 16": "sub.u32 {to}, {value}, 16;",
        "x 2": "shl.b32 {to}, {value}, 1;",
        "/ 2": "shr.u32 {to}, {value}, 1;",
        "= 0": "mov.b32 {to}, 0;",
    }
    for s in source.statements:
        if not s.starts("mbarrier") or "expect_tx" not in s.opcode:
            continue
        k = next(k for k, o in enumerate(s.operands) if o.startswith("[")) + 1
        for name, change in changes.items():
            ptx = with_operand(source, s, k, 32, change)
            yield Mutant("bytes", s.line, f"expected bytes {name}", s, ptx)


def counts(source):
    """Arrivals that an mbarrier expects."""
    for s in source.statements:
        if not s.starts("mbarrier.init"):
            continue
        for name in ("add", "sub"):
            ptx = with_operand(source, s, 1, 32, name + ".u32 {to}, {value}, 1;")
            sign = "+" if name == "add" else "-"
            yield Mutant("count", s.line, f"arrivals {sign} 1", s, ptx)


def scale_ids(source):
    """PTX ISA, instruction descriptor of block-scaled kinds: bits 4-5 are the
    id of the scales of B, bits 29-30 of A."""
    for s in source.statements:
        if not (s.starts("tcgen05.mma") and s.has("block_scale")):
            continue
        k = 4 if s.has("sp") else 3
        for name, shift in (("B", 4), ("A", 29)):
            for flip in (1, 2, 3):
                change = f"xor.b32 {{to}}, {{value}}, {flip << shift};"
                ptx = with_operand(source, s, k, 32, change)
                what = f"scale id of {name} xor {flip}"
                yield Mutant("scale-id", s.line, what, s, ptx)


def field(shift, bits, update):
    """`update` works on a field of a 64-bit descriptor in %mutant1."""
    mask = (1 << bits) - 1
    return (
        f"shr.u64 %mutant1, {{value}}, {shift}; and.b64 %mutant1, %mutant1, {mask}; "
        f"{update} and.b64 %mutant1, %mutant1, {mask}; shl.b64 %mutant1, %mutant1, {shift}; "
        f"and.b64 %mutant2, {{value}}, {~(mask << shift) & (1 << 64) - 1:#x}; "
        f"or.b64 {{to}}, %mutant1, %mutant2;"
    )


def descriptors(source):
    """PTX ISA, shared memory descriptor of tcgen05: leading byte offset in bits
    16-29, stride byte offset in bits 32-45, swizzle in bits 61-63."""
    changes = {
        "stride": {
            "SBO x 2": field(32, 14, "shl.b64 %mutant1, %mutant1, 1;"),
            "SBO / 2": field(32, 14, "shr.u64 %mutant1, %mutant1, 1;"),
            "SBO + 16": field(32, 14, "add.u64 %mutant1, %mutant1, 1;"),
            "SBO - 16": field(32, 14, "sub.u64 %mutant1, %mutant1, 1;"),
            "SBO = 0": field(32, 14, "mov.b64 %mutant1, 0;"),
            "LBO + 512": field(16, 14, "add.u64 %mutant1, %mutant1, 32;"),
        },
        "swizzle": {
            f"swizzle code + {k}": field(61, 3, f"add.u64 %mutant1, %mutant1, {k};")
            for k in range(1, 8)
        },
    }
    for s in source.statements:
        if s.starts("tcgen05.mma"):
            places = zip(("A", "B"), (1, 2))
            places = [(n, k) for n, k in places if not s.operands[k].startswith("[")]
        elif s.starts("tcgen05.cp"):
            places = [("source", 1)]
        else:
            continue
        for name, k in places:
            for operator, list_of in changes.items():
                for change, text in list_of.items():
                    ptx = with_operand(source, s, k, 64, text)
                    yield Mutant(operator, s.line, f"{name}: {change}", s, ptx)


SWIZZLES = ["none", "32b", "64b", "128b", "128b_atom32", "128b_atom64"]


def with_swizzle(name, swizzle):
    def edit(launch):
        launch["tensor_maps"][name]["swizzle"] = swizzle

    return edit


def with_stride(name, k, step):
    def edit(launch):
        launch["tensor_maps"][name]["strides"][k] += step

    return edit


def tensor_maps(launch):
    """Of the first launch; the same is done to the others that have the map."""
    for name, entry in launch.get("tensor_maps", {}).items():
        for swizzle in SWIZZLES:
            if swizzle != entry.get("swizzle", "none"):
                what = f"tensor map {name}: swizzle {swizzle}"
                edit = with_swizzle(name, swizzle)
                yield Mutant("map-swizzle", 0, what, map=name, edit=edit)
        for k in range(len(entry.get("strides", []))):
            for step in (16, -16):
                what = f"tensor map {name}: stride {k} {step:+} bytes"
                edit = with_stride(name, k, step)
                yield Mutant("map-stride", 0, what, map=name, edit=edit)


def all_mutants(sources, launch):
    """Of kernels, and of a launch file that runs them."""
    for source in sources:
        for make in (delete, parity, expected_bytes, counts, scale_ids, descriptors):
            for mutant in make(source):
                mutant.kernel = source.kernel
                yield mutant
    yield from tensor_maps(launch)
