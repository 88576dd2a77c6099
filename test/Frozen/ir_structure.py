"""Structural changes to attributes and operations, which a table of names cannot express.

A change consists of a version, an attribute, and two functions: `forward` converts the attribute's fields for a chip to
the new structure, and `back` restores the old structure. Programs of version N have the structure after all changes up
to N; programs of version 1 are in test/Frozen/1. Both functions leave already converted fields alone, so rewriting a
program twice is safe. Names are rewritten first, so changes use current names. scripts/rename-ir and
scripts/compare-kernels apply the changes."""

import re
from typing import Callable, NamedTuple


class Syntax(NamedTuple):
    """Operation replaced by an upstream operation: a pattern and a replacement for each direction."""

    version: int
    owner: str
    forward: tuple
    back: tuple

    def rewrite(self, text, back):
        return re.subn(*(self.back if back else self.forward), text)


class Field(NamedTuple):
    name: str
    value: str = ""  # empty for a flag

    def __str__(self):
        return f"{self.name} = {self.value}" if self.value else self.name


class Change(NamedTuple):
    version: int
    owner: str  # `schedule`: #mxgpu.schedule<...>, and schedule(<...>) of a kernel
    forward: Callable[[list, str], list]
    back: Callable[[list], list]


# Schedule fields that apply only to some strategies. The first entry is the field of the old, common schedule, with its
# value unless the field was a flag. The second entry is the current field.
OF_STRATEGIES = (
    (Field("cta_pair"), Field("ctas", "2")),
    (Field("accumulators"), Field("accumulators")),
    (Field("overlap"), Field("overlap")),
    (Field("scale_stages"), Field("scale_stages")),
    (Field("operand_stages"), Field("operand_stages")),
    (Field("f16_window"), Field("f16_scale_range", "true")),
    (Field("cluster_split"), Field("cluster_split", "true")),
    (Field("ctas"), Field("ctas_per_sm")),
    (Field("tile_loop"), Field("tile_loop")),
)
# Fields that the printer of version 1 never omitted.
DEFAULTS = {Field("accumulators", "1")}


def find_strategy(names, tile, chip):
    """Returns the strategy of a schedule with these fields. Omits fields with default values."""
    if "swap_ab" in names:
        return "wgmma_swap_ab"
    if chip.startswith("sm_90"):
        return "wgmma_bf16" if "cta_pair" in names else "wgmma_upcast_b"
    depth = tile.strip("[]").split(",")[-1].strip()
    return "tcgen05_upcast_b" if depth == "64" else "tcgen05_block_scaled"


def name_strategy(fields, chip):
    """Moves strategy-specific fields into the strategy attribute."""
    names = {old.name: new for old, new in OF_STRATEGIES}
    found = {field.name: field.value for field in fields}
    if "strategy" in found:
        return fields
    own = [field for field in fields if field.name in names and field not in DEFAULTS]
    rest = [field for field in fields if field.name not in names and field.name != "swap_ab"]
    if not own and "swap_ab" not in found:
        return rest
    strategy = find_strategy({field.name for field in own} | found.keys() & {"swap_ab"},
                             found.get("tile", ""), chip)
    moved = ", ".join(str(Field(names[field.name].name, names[field.name].value or field.value))
                      for field in own)
    value = f"#mxgpu.{strategy}" + f"<{moved}>" * bool(moved)
    place = max([rest.index(field) + 1 for field in rest if field.name in ("tile", "stages")],
                default=0)
    return [*rest[:place], Field("strategy", value), *rest[place:]]


def drop_strategy(fields):
    names = {new.name: old for old, new in OF_STRATEGIES}
    flags = {new.name for _, new in OF_STRATEGIES if new.value}
    result = []
    for field in fields:
        if field.name != "strategy":
            result.append(field)
            continue
        name, _, body = field.value.removesuffix(">").partition("<")
        parameters = split_fields(body) if body else []
        if any(own.name not in names for own in parameters):
            return fields  # newer than the change, so no old form exists
        result += [Field("swap_ab")] * (name == "#mxgpu.wgmma_swap_ab")
        for own in parameters:
            old = names[own.name]
            if own.name not in flags:
                result.append(Field(old.name, own.value))
            elif own.value not in ("1", "false"):
                result.append(old)
    return result


def name_k_order(match):
    """Rewrites mx.permute_reduction with a static reduction size."""
    block = 32 if int(match["k"]) % 64 else 64
    return f"mx.pack_operand order = #mxgpu.k_order<{block}>{match['rest']}"


TILED = "mxgpu.fragment_64x64"
NEVER = (r"(?!)", "")  # matches nothing, because older programs cannot have this form
# In chronological order.
CHANGES = (
    Change(2, "schedule", name_strategy, drop_strategy),
    Syntax(
        3, "mxgpu.warp_max",
        (r"mxgpu\.warp_max (%[\w$.-]+)", r"gpu.subgroup_reduce maxui \1 uniform : (i32) -> i32"),
        (r"gpu\.subgroup_reduce maxui (%[\w$.-]+) uniform : \(i32\) -> i32", r"mxgpu.warp_max \1"),
    ),
    Syntax(
        3, "mxgpu.atomic_add",
        (r"mxgpu\.atomic_add (%[\w$.-]+) to (%[\w$.-]+\[[^]]+\]) : (memref<[^<>]+>)",
         r"memref.atomic_rmw addi \1, \2 : (i32, \3) -> i32"),
        (r"memref\.atomic_rmw addi (%[\w$.-]+), (%[\w$.-]+\[[^],]+\]) : \(i32, (memref<[^<>]+>)\) -> i32",
         r"mxgpu.atomic_add \1 to \2 : \3"),
    ),
    Syntax(4, "mx.weight_layout", (r"#mx\.weight_layout<fragment_64x64>", f"#{TILED}"),
           (rf"(?<!order = )#{TILED}", "#mx.weight_layout<fragment_64x64>")),
    Syntax(4, "mx.pack_weights", (r"mx\.pack_weights (?=ins)", f"mx.pack_operand order = #{TILED} "),
           (rf"mx\.pack_operand (?:order = #{TILED} )?(?=ins)", "mx.pack_weights ")),
    Syntax(4, "mx.permute_reduction",
           (r"mx\.permute_reduction(?P<rest>( ragged = rows)? ins\(%[\w$.-]+ : \w+<(?:[\d?]+x)+?(?P<k>\d+)x[a-z])",
            name_k_order),
           (r"mx\.pack_operand order = #mxgpu\.k_order<\d+>", "mx.permute_reduction")),
    Syntax(4, "mx.matmul",
           (r"(mx\.(?:grouped_)?matmul [^\n]*?x128x32x(?:f[468]|!)[^\n]*? outs\([^)\n]*\)"
            r"(?: block_size = \d+)?(?: num_b = \d+)?(?: accumulate)?(?: scale_rounding = \w+)?)(?! b_order)",
            rf"\1 b_order = #{TILED}"),
           (rf" b_order = #{TILED}", "")),
    Syntax(
        4, "mx.fused_quantize",
        (r"mx\.quantize\b(?=(?:(?!\n\s*(?:%|//|return|\}|mx\.))[\s\S])*?\b(?:"
         r"block_size = \d+|input_scales|gather|amax|concat|dequantized|prologue)\b)", "mx.fused_quantize"),
        (r"mx\.fused_quantize\b", "mx.quantize"),
    ),
    Syntax(  # only NVFP4 programs have a global scale
        4, "mx.quantize",
        NEVER,
        (r"(mx\.quantize [^()]*(?:\w+\([^()]*\)\s*)*global_scale\([^()]*\)(?:\s*\w+\([^()]*\))*"
         r"(?:\s*axes = \[[^]]*\])?)(?=\s*(?:square|amax|concat|dequantized|scale_rounding|\{|->))",
         r"\1 block_size = 16"),
    ),
    Syntax(
        4, "linalg.generic",
        NEVER,
        (r"(%\w+) = linalg\.generic \{[^}]*\}\s*ins\((%\w+ : [^)]+)\) outs\([^)]*\) \{\n\s*\^bb0[^\n]*\n"
         r"(?:\s*%[^\n]*\n)*?\s*%\w+ = tensor\.extract (%\w+)\[%row, %column\] : (\S+)\n"
         r"(?:\s*%[^\n]*\n)*\s*linalg\.yield[^\n]*\n\s*\}[^\n]*\n((?:[^\n]*\n)*?[^\n]*)ins\(\1 : [^)]+\)",
         r"\5ins(\3 : \4) gather(\2)"),
    ),
)


def split_fields(body):
    """Returns the fields between the brackets of an attribute."""
    fields, depth, start = [], 0, 0
    for place, letter in enumerate(body + ","):
        depth += (letter in "<([{") - (letter in ">)]}")
        if letter == "," and not depth:
            name, _, value = (part.strip() for part in body[start:place].partition("="))
            fields.append(Field(name, value))
            start = place + 1
    return fields


def find_end(text, start):
    """Returns the position of the bracket that closes the bracket before `start`, or None."""
    depth = 1
    for place in range(start, len(text)):
        depth += (text[place] == "<") - (text[place] == ">")
        if not depth:
            return place
    return None


def find_chip(text):
    """Returns the first chip in a program's RUN lines, or the default chip of the tools."""
    match = re.search(r"\bchip[= ](sm_\w+)", text)
    return match[1] if match else "sm_100a"


def rewrite(text, changes, back=False, chip=None):
    """Applies `changes` to a program, or reverts them, and returns the program and the number of rewritten places per
    change. Without `chip`, uses the chip that the program names."""
    counts, chip = [], chip or find_chip(text)
    for change in reversed(changes) if back else changes:
        if isinstance(change, Syntax):
            text, count = change.rewrite(text, back)
            counts.append((change, count))
            continue
        opening = re.compile(rf"(?:#mxgpu\.{change.owner}|(?<![\w.]){change.owner}\()<")
        result, place, count = [], 0, 0
        for match in opening.finditer(text):
            end = find_end(text, match.end())
            if end is None:
                continue
            fields = split_fields(text[match.end() : end])
            new = change.back(fields) if back else change.forward(fields, chip)
            if new != fields:
                result += [text[place : match.end()], ", ".join(map(str, new))]
                place, count = end, count + 1
        text = "".join(result) + text[place:]
        counts.append((change, count))
    return text, counts
