"""docs/TorchAPI.md: signatures and docstrings of the package mx_compiler.torch. It is read and
not imported, as PyTorch is not a requirement of the build."""

import ast
import pathlib
import textwrap

ROOT = pathlib.Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "python" / "mx_compiler" / "torch"

HEAD = """<!-- Written by scripts/gen_docs.py; edit the docstrings in python/mx_compiler/torch instead -->

# The package mx_compiler.torch, name by name

[Torch.md](Torch.md) says how they work together. `mxt` is the package: `import mx_compiler.torch as mxt`. `ep` is that of
[expert parallelism](ExpertParallel.md): `from mx_compiler.torch import ep`.

[TOC]
"""

# What has public names, and how they are called here.
PACKAGES = {"__init__.py": "mxt", "ep.py": "ep"}


def page():
    """The text of docs/TorchAPI.md: the public names in the order of their modules'
    first mention, under the first line of the module's docstring."""
    lines = [HEAD]
    for package, prefix in PACKAGES.items():
        lines += document_package(package, prefix)
    return "\n".join(lines)


def document_package(package, prefix):
    lines = []
    for module, names in imports(package).items():
        tree = ast.parse((PACKAGE / f"{module.replace('.', '/')}.py").read_text())
        found = {node.name: node for node in tree.body
                 if isinstance(node, (ast.FunctionDef, ast.ClassDef))}
        # Up to the first stop: what the module is about.
        about = " ".join(ast.get_docstring(tree).split("\n\n")[0].split())
        lines += [f"## {module.rpartition('.')[2]}", "", about, ""]
        for name in names:
            lines += document(name, found.get(name), prefix)
    return lines


def imports(package):
    """What it imports from each module, and says is public."""
    tree = ast.parse((PACKAGE / package).read_text())
    public = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign) and node.targets[0].id == "__all__":
            public = set(ast.literal_eval(node.value))
    found = {}
    for node in tree.body:
        if isinstance(node, ast.ImportFrom) and node.level == 1 and node.module:
            names = [alias.name for alias in node.names if alias.name in public]
            if names:
                found[node.module] = names
    return found


def document(name, node, prefix):
    lines = [f"### {name}", ""]
    if node is None:  # a constant, which the page of its module tells of
        return lines + [f"A constant: `{prefix}.{name}`.", ""]
    lines += ["```python", signature(f"{prefix}.{name}", node), "```", ""]
    lines += block(ast.get_docstring(node))
    if isinstance(node, ast.ClassDef):
        for method in node.body:
            if isinstance(method, ast.FunctionDef) and is_public(method) \
                    and ast.get_docstring(method):
                lines += ["```python", signature(f"{name}.{method.name}", method,
                                                  is_method=True), "```", ""]
                lines += block(ast.get_docstring(method))
    return lines


def is_public(method):
    return not method.name.startswith("_") and "internal" not in map(ast.unparse,
                                                                     method.decorator_list)


def signature(name, node, is_method=False):
    if isinstance(node, ast.ClassDef):
        makers = [m for m in node.body
                  if isinstance(m, ast.FunctionDef) and m.name == "__init__"]
        if not makers:
            fields = [f"{m.target.id}={ast.unparse(m.value)}" if m.value else m.target.id
                      for m in node.body if isinstance(m, ast.AnnAssign)]
            return wrap(f"{name}({', '.join(fields)})")
        node, is_method = makers[0], True
    arguments = node.args
    for one in (*arguments.args, *arguments.kwonlyargs):
        one.annotation = None
    if is_method:
        arguments.args.pop(0)
    return wrap(f"{name}({ast.unparse(arguments)})")


def wrap(text):
    return "\n".join(textwrap.wrap(text, 100, subsequent_indent="    ",
                                   break_long_words=False)) if len(text) > 100 else text


def block(docstring):
    """A docstring as it stands in the source: its columns are its layout."""
    if not docstring:
        return []
    return ["```text", docstring, "```", ""] if "\n" in docstring else [docstring, ""]
