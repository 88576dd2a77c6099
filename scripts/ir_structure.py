"""Changes of the structure of attributes, which no table of names can write.

A change has a version, the attribute that it is about, and two functions of its
fields: forward, to the new structure, and back. Programs of version N have the
structure after all changes up to N; those of version 1 are in test/Frozen/1. Both
functions leave fields alone that have the wanted structure already, so that a program
may be rewritten twice. Names come first: a change sees those of today.
scripts/rename-ir and scripts/compare-kernels apply the changes."""

import re
from typing import Callable, NamedTuple


class Field(NamedTuple):
    name: str
    value: str = ""  # of a flag there is none

    def __str__(self):
        return f"{self.name} = {self.value}" if self.value else self.name


class Change(NamedTuple):
    version: int
    owner: str  # `schedule`: #mxgpu.schedule<...>, and schedule(<...>) of a kernel
    forward: Callable[[list], list]
    back: Callable[[list], list]


def move(version, owner, names, into, attribute, when=lambda fields: True):
    """The fields `names` of `owner` go into `attribute`, its new field `into`, wherever
    `when` is true of all fields, a dictionary, and at least one of them is there."""

    def forward(fields):
        moved = [field for field in fields if field.name in names]
        found = {field.name: field.value for field in fields}
        if not moved or into in found or not when(found):
            return fields
        place = fields.index(moved[0])
        new = Field(into, f"{attribute}<{', '.join(map(str, moved))}>")
        rest = [field for field in fields[place:] if field not in moved]
        return [*fields[:place], new, *rest]

    def back(fields):
        found = []
        for field in fields:
            if field.name == into and field.value.startswith(attribute + "<"):
                found += split_fields(field.value[len(attribute) + 1 : -1])
            else:
                found.append(field)
        return found

    return Change(version, owner, forward, back)


# In the order in which they were made.
CHANGES = ()


def split_fields(body):
    """The fields between the brackets of an attribute."""
    fields, depth, start = [], 0, 0
    for place, letter in enumerate(body + ","):
        depth += (letter in "<([{") - (letter in ">)]}")
        if letter == "," and not depth:
            name, _, value = (part.strip() for part in body[start:place].partition("="))
            fields.append(Field(name, value))
            start = place + 1
    return fields


def find_end(text, start):
    """Where the bracket that was opened before `start` is closed; None if it is not."""
    depth = 1
    for place in range(start, len(text)):
        depth += (text[place] == "<") - (text[place] == ">")
        if not depth:
            return place
    return None


def rewrite(text, changes, back=False):
    """The program after `changes`, or from before them, and how many attributes each
    has changed."""
    counts = []
    for change in reversed(changes) if back else changes:
        opening = re.compile(rf"(?:#mxgpu\.{change.owner}|(?<![\w.]){change.owner}\()<")
        apply = change.back if back else change.forward
        result, place, count = [], 0, 0
        for match in opening.finditer(text):
            end = find_end(text, match.end())
            if end is None:
                continue
            fields = split_fields(text[match.end() : end])
            new = apply(fields)
            if new != fields:
                result += [text[place : match.end()], ", ".join(map(str, new))]
                place, count = end, count + 1
        text = "".join(result) + text[place:]
        counts.append((change, count))
    return text, counts
