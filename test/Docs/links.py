"""Every link between the pages leads somewhere, and the index of docs names every page there,
or the index of a folder that it names does.

RUN: %python %s %mx_src
"""

import pathlib
import re
import sys

root = pathlib.Path(sys.argv[1])
docs = root / "docs"
pages = [*sorted(root.glob("*.md")), *sorted(docs.glob("**/*.md"))]
errors = []


def anchors(page):
    for title in re.findall(r"^#+ (.+)$", page.read_text(), re.MULTILINE):
        yield re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-")


linked = {}
for page in pages:
    for target in re.findall(r"\]\(([^)\s]+)\)", page.read_text()):
        if re.match(r"\w+:", target):
            continue
        path, _, anchor = target.partition("#")
        to = (page.parent / path).resolve() if path else page
        linked.setdefault(page.resolve(), set()).add(to)
        if not to.exists():
            errors.append(f"{page.relative_to(root)}: no such file: {target}")
        elif anchor and anchor not in anchors(to):
            errors.append(f"{page.relative_to(root)}: no such heading: {target}")

index = (docs / "README.md").resolve()
named = set(linked[index])
for page in linked[index]:
    if page.name == "README.md":
        named |= linked.get(page, set())
for page in (page for page in pages if docs in page.parents):
    if page.resolve() != index and page.resolve() not in named:
        errors.append(f"docs/README.md: does not link {page.relative_to(docs)}")

sys.exit("\n".join(errors) or 0)
