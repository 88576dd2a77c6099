#!/usr/bin/env python3
"""Keeps what the documentation says about the code equal to the code.

Written whole, from the .td files: docs/Dialects/*.md and docs/Passes.md; from the
docstrings of python/mx_compiler: docs/PythonAPI.md and docs/TorchAPI.md.
Refreshed in place, in README.md and every page below docs/: the fenced block
after a line

    <!-- output of: mx-opt examples/matmul.mlir --some-pass -->
    <!-- text of: examples/matmul.mlir -->

With --check nothing is written; the status is 1 where a page is stale."""

import argparse
import difflib
import os
import pathlib
import re
import shlex
import subprocess
import sys

import python_docs
import torch_docs

ROOT = pathlib.Path(__file__).resolve().parent.parent

PASSES_HEAD = """<!-- Written by scripts/gen_docs.py; edit the Passes.td files instead -->

# Passes

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
    return done.stdout


def with_contents(text):
    """Replaces [TOC] by links to the headings of the second and third level."""
    lines = []
    for marks, title in re.findall(r"^(##|###) (.+)$", text, re.MULTILINE):
        anchor = re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-")
        indent = "  " * (len(marks) - 2)
        lines.append(f"{indent}- [{title}](#{anchor})")
    text = text.replace("[TOC]\n", "\n".join(lines) + "\n")
    return re.sub(r"\n{3,}", "\n\n", text).strip() + "\n"


def dialect_pages(args):
    for folder in sorted(ROOT.glob("include/mx/Dialect/*/IR")):
        name = folder.parent.name
        ops = folder / f"{name}Ops.td"  # which includes those by subject
        dialect = ["-gen-dialect-doc", f"-dialect={name.lower()}"]
        yield f"docs/Dialects/{name}.md", with_contents(tblgen(args, dialect, ops))


def passes_page(args):
    sections = []
    for td in sorted(ROOT.glob("include/mx/**/Passes.td")):
        layer = "/".join(td.parent.relative_to(ROOT / "include/mx").parts)
        text = tblgen(args, ["-gen-pass-doc"], td)
        sections.append(f"## {layer}\n\n" + re.sub(r"<!--.*?-->\n", "", text))
    if sections:
        yield "docs/Passes.md", with_contents(PASSES_HEAD + "\n" + "\n".join(sections))


def python_page(args):
    text = python_docs.page()
    if text:
        yield "docs/PythonAPI.md", with_contents(text)
    else:
        print("docs/PythonAPI.md: left out, as the package cannot be imported: scripts/setup "
              "installs what it needs", file=sys.stderr)
    yield "docs/TorchAPI.md", with_contents(torch_docs.page())


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
        if page.exists() and marker.search(text := page.read_text()):
            yield str(page.relative_to(ROOT)), marker.sub(fill, text)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--tblgen", required=True, help="mlir-tblgen")
    parser.add_argument("--include", action="append", default=[], help="MLIR's headers")
    parser.add_argument("--tools", required=True, help="where mx-opt lies")
    parser.add_argument("--check", action="store_true", help="write nothing")
    args = parser.parse_args()

    stale = 0
    for generate in (dialect_pages, passes_page, python_page, refreshed_pages):
        for name, text in generate(args):
            page = ROOT / name
            old = page.read_text() if page.exists() else ""
            if old == text:
                continue
            stale += 1
            if args.check:
                diff = difflib.unified_diff(
                    old.splitlines(), text.splitlines(), name, "generated", lineterm=""
                )
                print("\n".join(diff))
            else:
                page.parent.mkdir(parents=True, exist_ok=True)
                page.write_text(text)
                print(f"wrote {name}")
    if stale and args.check:
        sys.exit(f"error: {stale} page(s) are stale: build the target mx-doc")


if __name__ == "__main__":
    main()
