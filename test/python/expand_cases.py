#!/usr/bin/env python3
"""Expands the cases of an IR test, each of which differs from a template in a few lines.

    expand_cases.py TEST... OUTPUT

Each TEST is split at `// -----`. A section with the line `// TEMPLATE name` defines a template, which is not part of
OUTPUT:

    // SET key = text      default of every ${key} below
    // BLOCK name          lines that a case may replace, up to
    // END

A section with the line `// USE template` is a case. It expands to the template, in which `// SET key = text` replaces a
text, and `// BLOCK name` replaces a block with the lines up to the next block or the end. `// USE template block` also
begins that block. Block lines are indented like the replaced block. `// TEMPLATE name` above `// USE` makes the case
itself a template.

In a section with the line `// CASES template block`, each following paragraph is such a case. After a plain
`// CASES`, each paragraph is a section. A comment-only paragraph belongs to the next paragraph. All other sections are
copied.
A template without a case, a second case in a section and a `// SET` below the code of a paragraph are errors, because
they would not be tested.
"""

import pathlib
import re
import sys
import textwrap

DIRECTIVE = re.compile(r"\s*// (TEMPLATE|USE|CASES|SET|BLOCK|END)\b ?(.*)")


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


def use(text, lines, templates):
    """Expands a case. `name [block]` selects the template; texts and blocks of the case replace the template's."""
    name, *block = text.split()
    if name not in templates:
        raise ValueError(f"expected one of {', '.join(templates)}, found {name}")
    sets, blocks, block = {}, {each: [] for each in block}, block[0] if block else None
    for line in lines:
        word, rest = directive(line)
        if word == "SET":
            if any(code(each) for text in blocks.values() for each in text):
                raise ValueError(f"expected texts above the code of a case, found {rest}")
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


def code(line):
    return bool(line.strip()) and not line.lstrip().startswith("//")


def paragraphs(lines):
    """Yields the index of each case's first line, and the case's lines. Comments belong to the next case."""
    found, start, prose = [], 0, True
    for index, line in enumerate([*lines, ""]):
        if line:
            prose = prose and not code(line) and directive(line)[0] is None and "expected-" not in line
        elif not prose:
            found.append((start, [each for each in lines[start:index] if each]))
            start, prose = index + 1, True
    return found


class Expansion:
    def __init__(self):
        self.templates, self.used, self.sections = {}, set(), []

    def add(self, place, lines, template=None, head=()):
        lines = [*head, *template.lines(), ""] if template else lines
        self.sections.append("\n".join([f"// {place}", *lines]) + "\n")

    def use(self, text, lines):
        template = use(text, lines, self.templates)
        self.used.add(text.split()[0])
        return template

    def cases(self, file, number, text, lines):
        for start, paragraph in paragraphs(lines):
            place, template, head = f"{file}:{number + start}", None, 0
            if text:
                # Without a block, comments precede the template.
                while " " not in text and head < len(paragraph) and not directive(paragraph[head])[0]:
                    head += 1
                try:
                    template = self.use(text, paragraph[head:])
                except ValueError as error:
                    sys.exit(f"{place}: error: {error}")
            self.add(place, paragraph, template, paragraph[:head])

    def section(self, file, number, lines):
        words = [directive(line)[0] for line in lines]
        found = [word for word in words if word in ("TEMPLATE", "USE", "CASES")]
        if found not in ([], ["USE"], ["CASES"], ["TEMPLATE"], ["TEMPLATE", "USE"]):
            raise ValueError(f"expected one case in a section, found {', '.join(found)}")
        start = words.index(found[-1]) if found else 0
        text = directive(lines[start])[1] if found else ""
        if "CASES" in found:
            self.cases(file, number + start + 1, text, lines[start + 1:])
        elif "TEMPLATE" in found:
            template = self.use(text, lines[start + 1:]) if "USE" in found else Template.parse(lines[start + 1:])
            name = directive(lines[words.index("TEMPLATE")])[1]
            if name in self.templates:
                raise ValueError(f"expected one template {name}, found another")
            self.templates[name] = template
        else:
            self.add(f"{file}:{number}", lines, self.use(text, lines[start + 1:]) if found else None, lines[:start])


def expand(text, file):
    expansion, number = Expansion(), 1
    for section in re.split(r"^// -----\n", text, flags=re.M):
        try:
            expansion.section(file, number, section.splitlines())
        except ValueError as error:
            sys.exit(f"{file}:{number}: error: {error}")
        number += section.count("\n") + 1
    if unused := expansion.templates.keys() - expansion.used:
        sys.exit(f"{file}: error: expected a case of each template, found none of {', '.join(sorted(unused))}")
    return "// -----\n".join(expansion.sections)


if __name__ == "__main__":
    *sources, output = map(pathlib.Path, sys.argv[1:])
    output.write_text("// -----\n".join(expand(source.read_text(), source) for source in sources))
