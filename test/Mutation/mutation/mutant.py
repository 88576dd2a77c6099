"""Mutants, and functions to replace operands of a statement."""

import dataclasses
import typing


@dataclasses.dataclass
class Mutant:
    operator: str  # delete, parity, bytes, ...
    line: int  # line of the PTX, or 0 for the launch file
    what: str  # "tcgen05.fence::after_thread_sync", "A: SBO x 2"
    statement: object = None
    ptx: str = None
    map: str = None  # tensor map in the launch file, changed by `edit`
    edit: typing.Callable = None
    kernel: str = None  # kernel of the statement


def name_of(statement):
    """Returns the opcode without modifiers that only describe the operands."""
    noise = {"shared", "b64", "b32", "sync", "aligned", "global", "tile"}
    return ".".join(m for m in statement.opcode.split(".") if m not in noise)


def in_scope(statement, registers, before, operands):
    """Returns the statement with other operands, computed in a nested scope."""
    new = f"{{ {registers} {before} "
    new += f"{statement.predicate} {statement.opcode} " + ", ".join(operands) + "; }"
    return new


def with_operand(source, s, k, bits, instruction):
    """Replaces operand k with the result of `instruction` on the operand."""
    new = list(s.operands)
    before = instruction.format(to="%mutant", value=new[k])
    new[k] = "%mutant"
    scratch = f".reg .b{bits} %mutant, %mutant1, %mutant2;"
    return source.replace(s, in_scope(s, scratch, before, new))
