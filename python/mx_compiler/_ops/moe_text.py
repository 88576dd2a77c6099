# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Programs of layers: those of examples/ in other sizes and formats."""

import pathlib
import re

from .._compile.files import read_bytes

# An installed package contains the examples that it compiles.
_PACKAGE = pathlib.Path(__file__).resolve().parent.parent
_FOLDERS = _PACKAGE / "templates", _PACKAGE.parent.parent / "examples"
_ELEMENT = "f8E4M3FN"  # of all formats in the examples
# Letters of a type's alias by the format of its elements; activations have the others.
_ALIASES = {"weights": r"!w\d", "gradients": r"!([zg]|[tw]d)"}
# Patterns of the places of a size, {} in an example. One pattern fits a place at most, the
# first.
_PLACES = {
    "hidden_blocks": "(?<=x){}(?=xf8E8M0FNU)",
    "intermediate_blocks": "(?<=x){}(?=xf8E8M0FNU)",
    "gate_up_blocks": "(?<=x){}(?=xf8E8M0FNU)",
    "window_pairs": "(?<=tensor<){}(?=xf32>)",
    "window": "(?<=tensor<){}(?=x)",
    "experts": "(?<=tensor<){}(?=x)|(?<=groups = ){}|(?<=G = ){}|(?<=%own = arith.constant ){}",
    "all_experts": "(?<=experts = ){}|{}(?= of them)",
    "ranks": "(?<=size = ){}|(?<=--ranks=){}|(?<=each of ){}",
    "tokens": "(?<=tokens = ){}|(?<=// ){}|(?<=s \\* ){}",
    "choices": "(?<=x){}(?=x[if]32>)|(?<=chooses ){}",
    "slack": "(?<=%slack = arith.constant ){}",
    "hidden": "{}", "intermediate": "{}", "gate_up": "{}",
}


def sizes_of(experts, hidden, intermediate):
    """The sizes of a program by their names, of `experts` on a device."""
    return dict(experts=experts, hidden=hidden, intermediate=intermediate,
                gate_up=2 * intermediate, hidden_blocks=hidden // 32,
                intermediate_blocks=intermediate // 32,
                gate_up_blocks=intermediate // 16, slack=127 * experts + 127)


def resize(name, example, sizes, formats):
    """The text of an example with `sizes` in the places of `example`, its sizes, and with
    the elements of `formats`, by what they are for."""
    folder = next((folder for folder in _FOLDERS if (folder / name).exists()), _FOLDERS[0])
    text = read_bytes(folder / name).decode()
    pattern = "|".join(
        f"(?P<{size}>" + rf"(?<!\d)({_PLACES[size]})(?!\d)".replace("{}", str(example[size])) + ")"
        for size in _PLACES if size in example)
    text = re.sub(pattern, lambda found: str(sizes[found.lastgroup]), text)

    def with_element(line):
        kinds = [kind for kind, alias in _ALIASES.items() if re.match(alias, line[1])]
        return line[1] + formats[kinds[0] if kinds else "activations"]

    return re.sub(rf"^(!\w+ = .*){_ELEMENT}", with_element, text, flags=re.MULTILINE)
