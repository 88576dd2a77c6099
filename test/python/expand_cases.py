#!/usr/bin/env python3
"""Expand the cases of an IR test that differ from a template in a few lines.

    expand_cases.py TEST OUTPUT

TEST is split at `// -----`. A section with the line `// TEMPLATE name` defines a
template and is not part of OUTPUT:

    // SET key = text      default of every ${key} below
    // BLOCK name          lines that a case may replace, up to
    // END

A section with the line `// USE template` is a case: the template with other
texts (`// SET key = text`) and other blocks (`// BLOCK name`, up to the next
block or the end). `// USE template block` begins that block at once. Lines of a
block are indented as the block that they replace. `// TEMPLATE name` above `// USE`
makes the case a template. Other sections are copied. A template without a case, and a
second case in a section, are errors: nothing would test them.
"""

import pathlib
import re
import sys
import textwrap

DIRECTIVE = re.compile(r"\s*// (TEMPLATE|USE|SET|BLOCK|END)\b ?(.*)")


def directive(line):
    match = DIRECTIVE.fullmatch(line)
    return match.groups() if match else (None, None)


class Template:
    def __init__(self, sets, blocks, parts):
        self.sets, self.blocks, self.parts = sets, blocks, parts

    @classmethod
    def parse(cls, lines):
        sets, blocks, parts, block = {}, {}, [], None
        for line in lines:
            word, rest = directive(line)
            if word == "SET":
                key, value = rest.split(" = ", 1)
                sets[key] = value
            elif word == "BLOCK":
                block, indent = rest, line[:line.index("/")]
                blocks[block] = []
                parts.append((block, indent))
            elif word == "END":
                block = None
            elif block:
                blocks[block].append(line.removeprefix(indent))
            else:
                parts.append((None, line))
        return cls(sets, blocks, parts)

    def derived(self, sets, blocks):
        for given, known in (sets, self.sets), (blocks, self.blocks):
            for name in given:
                if name not in known:
                    raise ValueError(f"expected one of {', '.join(known)}, found {name}")
        return Template(self.sets | sets, self.blocks | blocks, self.parts)

    def lines(self):
        lines = []
        for block, text in self.parts:
            if block is None:
                lines.append(text)
            else:
                lines += textwrap.indent("\n".join(self.blocks[block]), text).splitlines()
        return [re.sub(r"\$\{(\w+)\}", lambda key: self.sets[key[1]], line) for line in lines]


def use(lines, templates):
    """The template of a case, with its own texts and blocks."""
    name, *block = directive(lines[0])[1].split()
    if name not in templates:
        raise ValueError(f"expected one of {', '.join(templates)}, found {name}")
    sets, blocks, block = {}, {each: [] for each in block}, block[0] if block else None
    for line in lines[1:]:
        word, rest = directive(line)
        if word == "SET":
            key, value = rest.split(" = ", 1)
            sets[key] = value
        elif word == "BLOCK":
            block = rest
            blocks[block] = []
        elif block:
            blocks[block].append(line)
        elif line:
            raise ValueError(f"expected a block, found '{line}'")
    blocks = {name: "\n".join(text).strip("\n").splitlines() for name, text in blocks.items()}
    return templates[name].derived(sets, blocks)


def expand(text, file):
    templates, used, sections, number = {}, set(), [], 1
    for section in re.split(r"^// -----\n", text, flags=re.M):
        lines = section.splitlines()
        words = [directive(line)[0] for line in lines]
        try:
            template = None
            found = [word for word in words if word in ("TEMPLATE", "USE")]
            if found not in ([], ["USE"], ["TEMPLATE"], ["TEMPLATE", "USE"]):
                raise ValueError(f"expected one case in a section, found {', '.join(found)}")
            if "USE" in words:
                start = words.index("USE")
                template = use(lines[start:], templates)
                used.add(directive(lines[start])[1].split()[0])
            if "TEMPLATE" in words:
                start = words.index("TEMPLATE")
                templates[directive(lines[start])[1]] = template or Template.parse(lines[start + 1:])
            else:
                if template:
                    lines = lines[:start] + template.lines() + [""]
                sections.append("\n".join([f"// {file}:{number}", *lines]) + "\n")
        except ValueError as error:
            sys.exit(f"{file}:{number}: error: {error}")
        number += section.count("\n") + 1
    if unused := templates.keys() - used:
        sys.exit(f"{file}: error: expected a case of each template, found none of {', '.join(sorted(unused))}")
    return "// -----\n".join(sections)


if __name__ == "__main__":
    source = pathlib.Path(sys.argv[1])
    pathlib.Path(sys.argv[2]).write_text(expand(source.read_text(), source))
