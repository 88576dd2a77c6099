"""Every link between the pages leads somewhere, and the index names every page.

RUN: %python %s %mx_src
"""

import pathlib
import re
import sys

root = pathlib.Path(sys.argv[1])
docs = root / "docs"
pages = [root / "README.md", *sorted(docs.glob("**/*.md"))]
errors = []


def anchors(page):
    for title in re.findall(r"^#+ (.+)$", page.read_text(), re.MULTILINE):
        yield re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-")


linked = set()
for page in pages:
    for target in re.findall(r"\]\(([^)\s]+)\)", page.read_text()):
        if re.match(r"\w+:", target):
            continue
        path, _, anchor = target.partition("#")
        to = (page.parent / path).resolve() if path else page
        if page == docs / "README.md":
            linked.add(to)
        if not to.exists():
            errors.append(f"{page.relative_to(root)}: no such file: {target}")
        elif anchor and anchor not in anchors(to):
            errors.append(f"{page.relative_to(root)}: no such heading: {target}")

for page in pages[1:]:
    if page != docs / "README.md" and page.resolve() not in linked:
        errors.append(f"docs/README.md: does not link {page.relative_to(docs)}")

sys.exit("\n".join(errors) or 0)
