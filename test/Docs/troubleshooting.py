"""Checks that the messages quoted in docs/guide/Troubleshooting.md occur verbatim in the code.

RUN: %python %s %mx_src
"""

import pathlib
import re
import sys

root = pathlib.Path(sys.argv[1])
SOURCES = ("runtime", "lib", "tools", "include", "python", "scripts", "simulator/lib", "simulator/tools")
SUFFIXES = {".cpp", ".h", ".py", ".td", ""}


def joined(text):
    """Returns the text of a source with adjacent literals joined."""
    return re.sub(r'"\s*\+?\s*f?"', "", text)


code = "\n".join(joined(path.read_text(errors="replace")) for folder in SOURCES
                 for path in sorted((root / folder).rglob("*")) if path.is_file() and path.suffix in SUFFIXES)
page = root / "docs/guide/Troubleshooting.md"
checked, missing = 0, []
for line, text in enumerate(page.read_text().splitlines(), 1):
    cell = re.match(r"\| (`.*?`(?:, `.*?`)*) ", text)
    for message in re.findall(r"`([^`]+)`", cell[1]) if cell else ():
        parts = [part for part in (p.strip() for p in message.split("...")) if len(part) > 1]
        checked += bool(parts)
        # Inserted values split a message, because the parts may come from several literals.
        missing += [f"{page}:{line}: expected a text of the code, found '{part}'" for part in parts
                    if part.strip("':; ") not in code]
if checked < 15:
    missing.append(f"{page}: expected a table of messages, found {checked}")
# The check would report text that is not in the code.
assert "no message of mx says exactly this" not in code
sys.exit("\n".join(missing) or 0)
