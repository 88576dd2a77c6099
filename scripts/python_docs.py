"""docs/PythonAPI.md: signatures and docstrings of the package mx_compiler."""

import ast
import inspect
import pathlib
import sys
import textwrap

ROOT = pathlib.Path(__file__).resolve().parent.parent

HEAD = """<!-- Written by scripts/gen_docs.py; edit the docstrings in python/mx_compiler instead -->

# The package mx_compiler, name by name

[Python.md](Python.md) says how they work together. Here as there, `mx` is the package: `import mx_compiler as mx`.

[TOC]
"""

# Headings, with the modules whose public names stand below them.
PARTS = (("Functions", ("_ops.quantize", "_ops.products", "_ops.pack_weights",
                        "_ops.moe_layer", "_ops.routed_moe_layer", "_ops.quantized",
                        "_ops.formats")),
         ("Programs", ("_compile.compile", "_compile.templates", "_programs.program",
                       "_programs.entry", "_programs.values", "_programs.group")),
         ("Arrays", ("_arrays.array", "_arrays.elements", "_runtime.streams")),
         ("The device", ("_runtime.device",)),
         ("Errors", ("_runtime.errors",)))


def document(name, thing):
    """A heading and the docstring of a function, class or constant."""
    lines = [f"### {name}", ""]
    if inspect.isclass(thing) or callable(thing):
        lines += ["```python", signature(f"mx.{name}", thing), "```", ""]
    lines += block(own_docstring(thing))
    if inspect.isclass(thing):
        for member, value in vars(thing).items():
            if member.startswith("_"):
                continue
            function = inspect.unwrap(getattr(value, "__func__", getattr(value, "fget", value)))
            if getattr(function, "is_internal", False):
                continue
            if isinstance(value, property):
                if function.__doc__:
                    lines += [f"`{name}.{member}`: {inspect.cleandoc(function.__doc__)}", ""]
            elif inspect.isfunction(function) and function.__doc__:
                lines += ["```python", signature(f"{name}.{member}", function, skip_self=not
                                                 isinstance(value, staticmethod)), "```", ""]
                lines += block(function.__doc__)
    return lines


def own_docstring(thing):
    """Not the one that a dataclass or a NamedTuple makes up, nor a type's."""
    if not inspect.isclass(thing) and not callable(thing):
        return f"`{type(thing).__name__}` of: {', '.join(f'`{key}`' for key in thing)}."
    text = thing.__doc__ or ""
    return "" if text.startswith(f"{thing.__name__}(") else text


def signature(name, thing, skip_self=False):
    try:
        given = inspect.signature(thing)
    except (TypeError, ValueError):
        return name
    parameters = list(given.parameters.values())[1 if skip_self else 0:]
    parameters = [p.replace(annotation=p.empty) for p in parameters]
    text = f"{name}{given.replace(parameters=parameters, return_annotation=given.empty)}"
    return "\n".join(textwrap.wrap(text, 100, subsequent_indent="    ",
                                   break_long_words=False)) if len(text) > 100 else text


def block(docstring):
    """A docstring as it stands in the source: its columns are its layout."""
    text = inspect.cleandoc(docstring) if docstring else ""
    if not text:
        return []
    return ["```text", text, "```", ""] if "\n" in text else [text, ""]


def find_homes():
    """The module from which __init__.py imports each name."""
    tree = ast.parse((ROOT / "python/mx_compiler/__init__.py").read_text())
    return {alias.name: node.module for node in tree.body if isinstance(node, ast.ImportFrom)
            for alias in node.names}


def page():
    """The text of docs/PythonAPI.md; None where the package cannot be imported."""
    sys.path.insert(0, str(ROOT / "python"))
    try:
        import mx_compiler as mx
    except ImportError:
        return None
    finally:
        sys.path.pop(0)
    lines, seen, homes = [HEAD], set(), find_homes()
    for heading, modules in PARTS:
        lines += [f"## {heading}", ""]
        for name in mx.__all__:
            if homes[name] in modules:
                seen.add(name)
                lines += document(name, getattr(mx, name))
    missing = set(mx.__all__) - seen
    if missing:
        sys.exit(f"error: scripts/python_docs.py has no part for {', '.join(sorted(missing))}")
    return "\n".join(lines)
