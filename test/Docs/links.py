"""Checks the links between pages, and the index of docs/, which must name every page there. A link to a
Passes.td refers to the reference that scripts/docs-site generates from this file. The anchor is a pass.

RUN: %python %s %mx_src
"""

import pathlib
import re
import sys

root = pathlib.Path(sys.argv[1])
docs = root / "docs"
pages = [*sorted(root.glob("*.md")), *sorted(docs.glob("**/*.md")), *sorted(root.glob("simulator/README.md")),
         *sorted(root.glob("simulator/docs/**/*.md"))]
errors = []


def anchors(path):
    text = path.read_text()
    if path.name == "Passes.td":
        return {f"-{name}" for name in re.findall(r'Pass<\s*"([^"]+)"', text)}
    titles = re.findall(r"^#+ (.+)$", text, re.MULTILINE) if path.suffix == ".md" else ()
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


linked = {}
for page in pages:
    for target in re.findall(r"\]\(([^)\s]+)\)", page.read_text()):
        if re.match(r"\w+:", target):
            continue
        path, _, anchor = target.partition("#")
        to = (page.parent / path).resolve() if path else page
        linked.setdefault(page, set()).add(to)
        if not to.exists():
            errors.append(f"{page.relative_to(root)}: no such file: {target}")
        elif anchor and anchor not in anchors(to):
            errors.append(f"{page.relative_to(root)}: no such heading: {target}")

index = docs / "README.md"
for page in pages:
    if docs in page.parents and page != index and page.resolve() not in linked[index]:
        errors.append(f"docs/README.md: does not link {page.relative_to(docs)}")

sys.exit("\n".join(errors) or 0)
