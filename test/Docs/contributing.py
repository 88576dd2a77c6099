"""Checks CONTRIBUTING.md: named files and words exist, and excerpts match their files.

An excerpt quotes the first path in its numbered step, or the path in a preceding comment `<!-- excerpt of: PATH -->`.
Its lines must appear in that file in the same order and without gaps, except gaps marked by three dots. Indentation is
ignored. Commands must name existing scripts and tests, and code words in the text must occur in a file named on the
page.

RUN: %python %s %mx_src
"""

import pathlib
import re
import sys

# Sections with examples, and the minimum number of excerpts in each.
EXAMPLES = {"A pass": 6, "A matrix instruction": 4, "A strategy": 6,
            "A check of the simulator": 7, "A test": 4}
FENCE = re.compile(r"( *)```(\w+)\n(.*?)^\1```$", re.M | re.S)
COMMENT = re.compile(r"<!-- excerpt of: (\S+) -->\s*$")
PATH = re.compile(r"`([\w.-]+(?:/[\w.-]+)+)`")
# Names of functions, types and fields in the text.
WORD = re.compile(r"`([A-Za-z]\w*(?:[a-z][A-Z]|_)\w*)`")


def has_chunk(lines, chunk, start):
    """Returns the line after the first occurrence of the lines of `chunk` at or after `start`, or None."""
    for at in range(start, len(lines) - len(chunk) + 1):
        if lines[at:at + len(chunk)] == chunk:
            return at + len(chunk)
    return None


def check_excerpt(root, path, text):
    if not (root / path).is_file():
        yield f"expected a file, found {path}"
        return
    lines = [line.strip() for line in (root / path).read_text().splitlines()]
    at = 0
    for chunk in re.split(r"^ *\.\.\.$", text, flags=re.M):
        wanted = [line.strip() for line in chunk.strip("\n").splitlines()]
        after = has_chunk(lines, wanted, at)
        if not any(wanted):
            yield f"{path}: expected an excerpt that has lines"
        elif after is None:
            yield f"{path}: expected, after the lines before it in the excerpt:\n  " + "\n  ".join(wanted)
        else:
            at = after


def check_commands(root, text):
    for word in re.findall(r"(?<![\w/.-])(?:scripts|build/gcc/test)/[\w./-]+", text):
        if not (root / word.removeprefix("build/gcc/")).exists():
            yield f"expected a script or a test, found {word}"


def check(root, page):
    """Yields the errors in the page's text."""
    prose = FENCE.sub("", page)
    paths = sorted(set(PATH.findall(prose)))
    for path in paths:
        if not path.startswith("build/") and not (root / path).exists():
            yield f"expected a path that exists, found {path}"
    named = "".join((root / path).read_text() for path in paths
                    if (root / path).is_file() and not (root / path).samefile(__file__))
    for word in sorted(set(WORD.findall(prose))):
        if word not in named:
            yield f"expected words of the files that the page names, found {word}"

    counts = dict.fromkeys(EXAMPLES, 0)
    for match in FENCE.finditer(page):
        before = page[:match.start()]
        title = before.rpartition("\n### ")[2].partition("\n")[0]
        comment = COMMENT.search(before)
        if match[2] == "sh":
            yield from check_commands(root, match[3])
            continue
        step = re.split(r"^\d+\. ", before, flags=re.M)[-1]
        path = comment[1] if comment else next(iter(PATH.findall(FENCE.sub("", step))), None)
        if path is None:
            yield f"{title}: expected a path in the step of an excerpt"
            continue
        counts[title] = counts.get(title, 0) + 1
        yield from check_excerpt(root, path, match[3])
    for title, least in EXAMPLES.items():
        if counts[title] < least:
            yield f"{title}: expected at least {least} excerpts, found {counts[title]}"


def check_itself(root, page):
    """Checks the report of each single mistake in a page."""
    for old, new, said in (
            ("`simulator/lib/checks/Accesses.cpp`", "`simulator/lib/checks/Access.cpp`", "expected a path that exists"),
            ("`getOperandModes`", "`getOperandsMode`", "expected words"),
            ("MX_FINDING(CtaExit,", "MX_FINDING(CtaExits,", "expected, after"),
            ("scripts/check-prose ", "scripts/check-poetry ", "expected a script"),
            ("fold-casts.mlir\n   ```", "fold-cast.mlir\n   ```", "expected a script or a test"),
            ("excerpt of: simulator/docs/Checks.md", "excerpt of: simulator/docs/Check.md", "expected a file"),
            # Existing lines in another order, or with an unmarked gap.
            ('  kCheckCtaExit = 1u << 8,\n   ...\n       {"cta-exit", kCheckCtaExit},',
             '  {"cta-exit", kCheckCtaExit},\n   ...\n       kCheckCtaExit = 1u << 8,', "expected, after"),
            ("  kCheckCtaExit = 1u << 8,\n   ...\n", "  kCheckCtaExit = 1u << 9,\n", "expected, after"),
            ("### A test\n", "### One test\n", "A test: expected at least")):
        assert old in page, old
        found = list(check(root, page.replace(old, new)))
        assert any(said in line for line in found), (old, found)


def main():
    root = pathlib.Path(sys.argv[1])
    page = (root / "CONTRIBUTING.md").read_text()
    errors = list(check(root, page))
    if not errors:
        check_itself(root, page)
    return "\n".join(f"CONTRIBUTING.md: {error}" for error in errors) or 0


sys.exit(main())
