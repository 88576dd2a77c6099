"""Checks CHANGELOG.md: the first version is that of CMakeLists.txt, versions descend, and the interface numbers match
the headers.

RUN: %python %s %mx_src
"""

import datetime
import pathlib
import re
import sys

root = pathlib.Path(sys.argv[1])
page = (root / "CHANGELOG.md").read_text()
GROUPS = {"Added", "Changed", "Deprecated", "Removed", "Fixed", "Security", "Known limits"}
# Regular expressions for the definitions of the numbers in the table.
DEFINED = {"MX_INTERFACE_VERSION": r"#define MX_INTERFACE_VERSION (\d+)$",
           "MXC_INTERFACE_VERSION": r"#define MXC_INTERFACE_VERSION (\d+)$",
           "format": r"kFormat = (\d+);$"}


def check(page):
    """Yields the errors in the text."""
    titles = re.findall(r"^## (.*)$", page, re.M)
    if titles[-1:] != ["Versions"]:
        yield f"expected the section 'Versions' at the end, found {titles[-1:]}"
    versions = []
    for title in titles[:-1]:
        form = re.fullmatch(r"\[(\d+)\.(\d+)\.(\d+)\] - (\S+)", title)
        if not form:
            yield f"expected '[N.N.N] - DATE', found '{title}'"
            continue
        versions.append(tuple(map(int, form.groups()[:3])))
        if form[4] == "unreleased" and len(versions) == 1:
            continue
        try:
            datetime.date.fromisoformat(form[4])
        except ValueError:
            yield f"expected a date, or 'unreleased' of the newest, found '{title}'"
    if versions != sorted(set(versions), reverse=True):
        yield f"expected versions that fall, found {versions}"
    project = re.search(r"project\(MX VERSION ([\d.]+)", (root / "CMakeLists.txt").read_text())[1]
    if ".".join(map(str, versions[0] if versions else ())) != project:
        yield f"expected the version {project} of CMakeLists.txt first, found {titles[:1]}"
    for group in re.findall(r"^### (.*)$", page, re.M):
        if group not in GROUPS:
            yield f"expected groups of {', '.join(sorted(GROUPS))}, found {group}"
    rows = re.findall(r"^\| `(\w+)`, (\d+) \|.*\| `(\S+)` \|$", page, re.M)
    if {name for name, _, _ in rows} != set(DEFINED):
        yield f"expected the numbers {', '.join(DEFINED)}, found {rows}"
        return
    for name, number, path in rows:
        defined = re.search(DEFINED[name], (root / path).read_text(), re.M)
        if not defined or defined[1] != number:
            yield f"expected {name} as in {path}, found {number}"


errors = list(check(page))
if not errors:
    # Each mistake must be reported.
    for old, new, said in (
            (r"## \[(\S+)\] - \S+", r"## [9.9.9] - 2026-01-01", "first"),
            (r"## \[(\S+)\] - \S+", r"## \1 - 2026-01-01", "N.N.N"),
            (r"## \[(\S+)\] - \S+", r"## [\1] - soon", "expected a date"),
            (r"\Z", "## [0.0.1] - 2026-01-01\n", "at the end"),
            (r"### Added", "### Additions", "expected groups"),
            (r"`MX_INTERFACE_VERSION`, \d+", "`MX_INTERFACE_VERSION`, 99", "expected MX_INTERFACE_VERSION as in"),
            (r"`format`, \d+", "`form`, 3", "expected the numbers")):
        found = list(check(re.sub(old, new, page, count=1)))
        assert any(said in line for line in found), (old, new, found)
sys.exit("\n".join(f"CHANGELOG.md: {error}" for error in errors) or 0)
