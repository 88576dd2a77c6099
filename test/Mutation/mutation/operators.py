"""Mutation operators. Each makes a small, typical programming mistake."""

from . import fragments
from .mutant import Mutant, in_scope, name_of, with_operand

# Instructions to delete. If a test_wait or try_wait is deleted, its predicate is set to true, see below.
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


def delete(source):
    for s in source.statements:
        if not s.starts(*DELETED):
            continue
        text = ""
        if s.starts(*TESTS):
            text = f"{s.predicate} mov.pred {s.operands[0]}, 1;"
        # A label may require a following statement.
        text = text or "{ .reg .b32 %mutant; mov.b32 %mutant, 0; }"
        yield Mutant("delete", s.line, name_of(s), s, source.replace(s, text))


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
    """Changes the arrival count of an mbarrier."""
    for s in source.statements:
        if not s.starts("mbarrier.init"):
            continue
        for name in ("add", "sub"):
            ptx = with_operand(source, s, 1, 32, name + ".u32 {to}, {value}, 1;")
            sign = "+" if name == "add" else "-"
            yield Mutant("count", s.line, f"arrivals {sign} 1", s, ptx)


def scale_ids(source):
    """Changes scale ids. In the instruction descriptor of block-scaled kinds (PTX ISA), bits 4-5 contain B's scale id
    and bits 29-30 contain A's scale id."""
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
    """Returns PTX that applies `update` to a field of a 64-bit descriptor in %mutant1."""
    mask = (1 << bits) - 1
    return (
        f"shr.u64 %mutant1, {{value}}, {shift}; and.b64 %mutant1, %mutant1, {mask}; "
        f"{update} and.b64 %mutant1, %mutant1, {mask}; shl.b64 %mutant1, %mutant1, {shift}; "
        f"and.b64 %mutant2, {{value}}, {~(mask << shift) & (1 << 64) - 1:#x}; "
        f"or.b64 {{to}}, %mutant1, %mutant2;"
    )


STRIDES = {
    "SBO x 2": field(32, 14, "shl.b64 %mutant1, %mutant1, 1;"),
    "SBO / 2": field(32, 14, "shr.u64 %mutant1, %mutant1, 1;"),
    "SBO + 16": field(32, 14, "add.u64 %mutant1, %mutant1, 1;"),
    "SBO - 16": field(32, 14, "sub.u64 %mutant1, %mutant1, 1;"),
    "SBO = 0": field(32, 14, "mov.b64 %mutant1, 0;"),
    "LBO + 512": field(16, 14, "add.u64 %mutant1, %mutant1, 32;"),
}


def swizzles(shift, bits):
    """Changes the swizzle to each of the other codes."""
    return {
        f"swizzle code + {k}": field(shift, bits, f"add.u64 %mutant1, %mutant1, {k};")
        for k in range(1, 1 << bits)
    }


# PTX ISA, shared memory descriptors: bits 16-29 contain the leading byte offset, bits 32-45
# the stride byte offset, and bits 61-63 (tcgen05) or 62-63 (wgmma) the swizzle.
DESCRIPTORS = {
    "tcgen05.mma": {"stride": STRIDES, "swizzle": swizzles(61, 3)},
    "tcgen05.cp": {"stride": STRIDES, "swizzle": swizzles(61, 3)},
    "wgmma.mma_async": {"stride": STRIDES, "swizzle": swizzles(62, 2)},
}


def descriptor_operands(s):
    """Returns the names and indices of descriptor operands. Operand A may be in tensor memory or registers instead."""
    if s.starts("tcgen05.cp"):
        return [("source", 1)]
    places = (("A", 1), ("B", 2))
    return [(name, k) for name, k in places if s.operands[k][0] not in "[{"]


def descriptors(source):
    for s in source.statements:
        for opcode, changes_of in DESCRIPTORS.items():
            if not s.starts(opcode):
                continue
            for name, k in descriptor_operands(s):
                for operator, changes in changes_of.items():
                    for change, text in changes.items():
                        ptx = with_operand(source, s, k, 64, text)
                        yield Mutant(operator, s.line, f"{name}: {change}", s, ptx)


def warpgroup_operands(source):
    """Mutates a wgmma with A in registers: exchanges two of its four registers, changes the address of B, or clears the
    accumulators."""
    for s in source.statements:
        if not s.starts("wgmma.mma_async"):
            continue

        def mutant(operator, what, ptx):
            return Mutant(operator, s.line, what, s, ptx)

        if s.operands[1].startswith("{"):
            names = [name.strip() for name in s.operands[1][1:-1].split(",")]
            for i, k in ((0, 1), (0, 2), (1, 3), (2, 3)):
                new = list(names)
                new[i], new[k] = new[k], new[i]
                operands = [s.operands[0], "{" + ", ".join(new) + "}", *s.operands[2:]]
                ptx = source.replace(s, in_scope(s, "", "", operands))
                yield mutant("registers", f"A: registers {i} and {k} exchanged", ptx)
        for name, k in descriptor_operands(s):
            for sign, update in (("+", "add"), ("-", "sub")):
                # The unit is 16 bytes: an instruction reads 32 bytes of a row.
                text = field(0, 14, f"{update}.u64 %mutant1, %mutant1, 2;")
                ptx = with_operand(source, s, k, 64, text)
                yield mutant("start", f"{name}: address {sign} 32", ptx)
        before = source.statements[source.statements.index(s) - 1]
        if before.starts("setp.ne") and before.operands[1:] == ("0", "0"):
            continue  # The sum replaces the accumulators already.
        ptx = source.replace(
            s,
            in_scope(
                s,
                ".reg .pred %mutant;",
                "setp.ne.b32 %mutant, 0, 0;",
                [*s.operands[:3], "%mutant", *s.operands[4:]],
            ),
        )
        yield mutant("sums", "from zero", ptx)


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
    """Changes a tensor map of the first launch. Other launches that use this map change too."""
    for name, entry in launch.get("tensor_maps", {}).items():
        for swizzle in SWIZZLES:
            if swizzle != entry.get("swizzle", "none"):
                what = f"tensor map {name}: swizzle {swizzle}"
                edit = with_swizzle(name, swizzle)
                yield Mutant("map-swizzle", 0, what, map=name, edit=edit)
        for k in range(len(entry.get("strides", []))):
            if entry["dims"][k + 1] == 1:
                continue  # No copy uses the stride.
            for step in (16, -16):
                what = f"tensor map {name}: stride {k} {step:+} bytes"
                edit = with_stride(name, k, step)
                yield Mutant("map-stride", 0, what, map=name, edit=edit)


MAKERS = (
    delete,
    parity,
    expected_bytes,
    counts,
    scale_ids,
    descriptors,
    warpgroup_operands,
    *fragments.MAKERS,
)


def all_mutants(sources, launch):
    """Returns mutants of kernels and of their launch file."""
    for source in sources:
        for make in MAKERS:
            for mutant in make(source):
                mutant.kernel = source.kernel
                yield mutant
    yield from tensor_maps(launch)
