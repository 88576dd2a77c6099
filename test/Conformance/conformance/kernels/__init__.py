"""The tables of kernels, a module per family."""

import importlib
import os

_HERE = os.path.dirname(__file__)


def names():
    return sorted(
        f[:-3] for f in os.listdir(_HERE) if f.endswith(".py") and f[0] != "_"
    )


def groups(wanted):
    """The groups of that name (all if none is named), or what is wrong. A
    module may hold several groups, whose names begin with its own."""
    found = []
    for name in names():
        if wanted and not any(w.split("-")[0] == name for w in wanted):
            continue
        module = importlib.import_module(f"{__name__}.{name}")
        found += module.groups()
    if not wanted:
        return found
    chosen = [g for g in found if g.name in wanted or g.name.split("-")[0] in wanted]
    for w in wanted:
        if not any(g.name == w or g.name.split("-")[0] == w for g in chosen):
            return f"no group '{w}', there are: " + " ".join(names())
    return chosen
