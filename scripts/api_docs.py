"""Writes the reference pages PythonAPI.md and TorchAPI.md: signatures and docstrings of the
package mx_compiler. Modules are parsed, not imported, so neither NumPy nor PyTorch is needed.

    api_docs.py FOLDER

scripts/gen_docs.py calls this with the rest of the reference."""

import ast
import copy
import pathlib
import sys
import textwrap

PACKAGE = pathlib.Path(__file__).resolve().parent.parent / "python" / "mx_compiler"

HEAD = """# The package {name}, name by name

[{guide}](../guide/{guide}) describes their use. {imports}

[TOC]
"""

# Maps each page to its modules with public names and their prefix.
PAGES = {
    "PythonAPI.md": (HEAD.format(name="mx_compiler", guide="Python.md",
                                 imports="`mx` is the package: `import mx_compiler as mx`."),
                     {"__init__.py": "mx"}),
    "TorchAPI.md": (HEAD.format(name="mx_compiler.torch", guide="Torch.md",
                                imports="`mxt` is the package: `import mx_compiler.torch as mxt`. `ep` is the\n"
                                        "module for [expert parallelism](../guide/Ranks.md): "
                                        "`from mx_compiler.torch import ep`."),
                    {"torch/__init__.py": "mxt", "torch/ep.py": "ep"}),
}


def pages():
    """Yields names and texts of the pages; exits if a public name has no docstring."""
    for name, (head, packages) in PAGES.items():
        lines = [head]
        for package, prefix in packages.items():
            lines += document_package(PACKAGE / package, prefix)
        yield name, "\n".join(lines)


def document_package(package, prefix):
    """Documents the public names, grouped by module in the order of the first import. Each
    module starts with the first paragraph of its docstring."""
    lines = []
    for module, names in imports(package).items():
        path = package.parent / f"{module.replace('.', '/')}.py"
        tree = ast.parse(path.read_text(encoding="utf-8"))
        about = ast.get_docstring(tree).split("\n\n")[0]
        lines += [f"## Module {module.rpartition('.')[2]}", "", " ".join(about.split()), ""]
        for name in names:
            lines += document(name, tree, f"{prefix}.{name}", path)
    return lines


def imports(package):
    """Returns the public names imported by a package, by module."""
    tree = ast.parse(package.read_text(encoding="utf-8"))
    public = next(ast.literal_eval(node.value) for node in tree.body
                  if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__")
    found = {}
    for node in tree.body:
        if isinstance(node, ast.ImportFrom) and node.level == 1 and node.module:
            names = [alias.name for alias in node.names if alias.name in public]
            if names:
                found.setdefault(node.module, []).extend(names)
    missing = set(public) - {name for names in found.values() for name in names}
    if missing:
        sys.exit(f"error: {package}: expected imports of all public names, found none of {', '.join(sorted(missing))}")
    return found


def document(name, tree, called, path):
    """Returns heading, signature and docstring of a function, a class with its methods, or a
    constant. Constants are documented by the following string."""
    lines = [f"### {name}", ""]
    for node, after in zip(tree.body, [*tree.body[1:], None]):
        if isinstance(node, ast.FunctionDef | ast.ClassDef) and node.name == name:
            if "overload" in decorators(node):
                continue
            text = ast.get_docstring(node)
            lines += ["```python", signature(called, node, tree), "```", ""]
        elif isinstance(node, ast.Assign | ast.AnnAssign) and ast.unparse(targets(node)[0]) == name:
            text = ast.literal_eval(after.value) if isinstance(after, ast.Expr) else None
        else:
            continue
        if not text:
            sys.exit(f"error: {path}:{node.lineno}: expected a docstring of the public name {name}, found none")
        lines += block(text)
        for method in node.body if isinstance(node, ast.ClassDef) else ():
            if is_public(method):
                lines += document_method(name, method, tree)
        return lines
    sys.exit(f"error: {path}: expected the public name {name}, found none")


def targets(node):
    return node.targets if isinstance(node, ast.Assign) else [node.target]


def is_public(method):
    """Returns True for public methods with a docstring; methods without one are not listed."""
    return isinstance(method, ast.FunctionDef) and not method.name.startswith("_") and ast.get_docstring(method) \
        and "internal" not in decorators(method)


def decorators(node):
    return [ast.unparse(decorator).rpartition(".")[2] for decorator in node.decorator_list]


def document_method(name, method, tree):
    text = ast.get_docstring(method)
    if "property" in decorators(method):
        return [f"`{name}.{method.name}`: {text}", ""]
    return ["```python", signature(f"{name}.{method.name}", method, tree, in_class=True), "```", "", *block(text)]


def signature(called, node, tree, in_class=False):
    if isinstance(node, ast.ClassDef):
        classes = {other.name: other for other in tree.body if isinstance(other, ast.ClassDef)}
        owner = node
        while owner:
            for method in owner.body:
                if isinstance(method, ast.FunctionDef) and method.name == "__init__":
                    return signature(called, method, tree, in_class=True)
            owner = next((classes[base.id] for base in owner.bases
                          if isinstance(base, ast.Name) and base.id in classes), None)
        fields = [f"{field.target.id}={ast.unparse(field.value)}" if field.value else field.target.id
                  for field in node.body if isinstance(field, ast.AnnAssign)]
        return wrap(f"{called}({', '.join(fields)})" if fields else called)
    arguments = copy.deepcopy(node.args)
    for argument in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs, arguments.vararg, arguments.kwarg):
        if argument:
            argument.annotation = None
    if in_class and "staticmethod" not in decorators(node):
        (arguments.posonlyargs or arguments.args).pop(0)
    return wrap(f"{called}({ast.unparse(arguments)})")


def wrap(text):
    if len(text) <= 100:
        return text
    return "\n".join(textwrap.wrap(text, 100, subsequent_indent="    ", break_long_words=False))


def block(docstring):
    """Keeps the layout of multi-line docstrings."""
    return ["```text", docstring, "```", ""] if "\n" in docstring else [docstring, ""]


if __name__ == "__main__":
    for page, contents in pages():
        pathlib.Path(sys.argv[1], page).write_text(contents, encoding="utf-8")
