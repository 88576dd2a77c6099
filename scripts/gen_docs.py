#!/usr/bin/env python3
"""Writes the reference, and the command output shown in pages.

    gen_docs.py --out=FOLDER --tblgen=mlir-tblgen [--include=FOLDER]...
    gen_docs.py --tools=FOLDER [--check]

With --out, writes the reference to FOLDER: dialects and passes from the .td files, the Python
package from its docstrings. scripts/docs-site adds the reference to the site; the pages are not
committed. A public name without a docstring is an error.

With --tools, the folder of mx-opt, fills in the fenced block after lines of these forms in
README.md and all pages below docs/:

    <!-- output of: mx-opt examples/matmul.mlir --some-pass -->
    <!-- text of: examples/matmul.mlir -->

With --check, writes nothing, and exits with status 1 if a block is stale."""

import argparse
import difflib
import os
import pathlib
import re
import shlex
import subprocess
import sys

import api_docs

ROOT = pathlib.Path(__file__).resolve().parent.parent

PASSES_HEAD = """# Passes

Passes take their options as `--mx-some-pass="option=value"`, and in a pipeline
as `mx-some-pass{option=value}`.

[TOC]
"""


def tblgen(args, generator, td):
    command = [args.tblgen, *generator, f"-I{ROOT}/include"]
    command += [f"-I{path}" for path in args.include] + [str(td)]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"error: {shlex.join(command)}\n{done.stderr}")
    return re.sub(r"<!--.*?-->\n", "", done.stdout)


def with_contents(text):
    """Replaces [TOC] by links to headings of the second and third level."""
    lines = []
    for marks, title in re.findall(r"^(##|###) (.+)$", text, re.MULTILINE):
        anchor = re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-")
        indent = "  " * (len(marks) - 2)
        lines.append(f"{indent}- [{title}](#{anchor})")
    text = text.replace("[TOC]\n", "\n".join(lines) + "\n")
    return re.sub(r"\n{3,}", "\n\n", text).strip() + "\n"


def reference_pages(args):
    for folder in sorted(ROOT.glob("include/mx/Dialect/*/IR")):
        name = folder.parent.name
        ops = folder / f"{name}Ops.td"  # includes the files by subject
        yield f"{name}.md", tblgen(args, ["-gen-dialect-doc", f"-dialect={name.lower()}"], ops)
    sections = []
    for td in sorted(ROOT.glob("include/mx/**/Passes.td")):
        layer = "/".join(td.parent.relative_to(ROOT / "include/mx").parts)
        sections.append(f"## {layer}\n\n" + tblgen(args, ["-gen-pass-doc"], td))
    yield "Passes.md", PASSES_HEAD + "\n" + "\n".join(sections)
    yield from api_docs.pages()


def write_reference(args):
    out = pathlib.Path(args.out)
    out.mkdir(parents=True, exist_ok=True)
    for name, text in reference_pages(args):
        (out / name).write_text(with_contents(text), encoding="utf-8")


def run_tool(args, command):
    path = os.pathsep.join([args.tools, os.environ["PATH"]])
    done = subprocess.run(
        command, shell=True, cwd=ROOT, capture_output=True, text=True,
        env={**os.environ, "PATH": path},
    )
    if done.returncode:
        sys.exit(f"error: '{command}' failed\n{done.stderr}")
    return done.stdout


def refreshed_pages(args):
    marker = re.compile(
        r"^(<!-- (output|text) of: (.+?) -->\n+```\w*\n)(.*?)(^```$)",
        re.MULTILINE | re.DOTALL,
    )

    def fill(match):
        head, kind, source, _, end = match.groups()
        text = run_tool(args, source) if kind == "output" else (ROOT / source).read_text()
        return head + text.strip() + "\n" + end

    for page in [ROOT / "README.md", *sorted(ROOT.glob("docs/**/*.md"))]:
        if marker.search(text := page.read_text()):
            yield page, text, marker.sub(fill, text)


def refresh(args):
    stale = 0
    for page, old, text in refreshed_pages(args):
        if old == text:
            continue
        stale += 1
        name = str(page.relative_to(ROOT))
        if args.check:
            diff = difflib.unified_diff(old.splitlines(), text.splitlines(), name, "today", lineterm="")
            print("\n".join(diff))
        else:
            page.write_text(text)
            print(f"wrote {name}")
    if stale and args.check:
        sys.exit(f"error: {stale} page(s) are stale: build the target mx-doc")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--out", help="folder for the reference")
    parser.add_argument("--tblgen", default="mlir-tblgen", help="mlir-tblgen")
    parser.add_argument("--include", action="append", default=[], help="MLIR's headers")
    parser.add_argument("--tools", help="folder of mx-opt")
    parser.add_argument("--check", action="store_true", help="report stale blocks without writing")
    args = parser.parse_args()
    if args.out:
        write_reference(args)
    if args.tools:
        refresh(args)


if __name__ == "__main__":
    main()
