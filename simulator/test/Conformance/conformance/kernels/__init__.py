"""Tables of kernels. A group name begins with the first word of the module
name. For example, the groups of tma_special.py are called tma-..."""

import importlib
import os

_HERE = os.path.dirname(__file__)


def names():
    return sorted(
        f[:-3] for f in os.listdir(_HERE) if f.endswith(".py") and f[0] != "_"
    )


def groups(wanted):
    """Returns the groups with the given names (all groups without names), or an error message.
    The name of a module selects all groups of the module."""
    found = []
    for name in names():
        if wanted and name.split("_")[0] not in (w.split("-")[0] for w in wanted):
            continue
        module = importlib.import_module(f"{__name__}.{name}")
        found += module.groups()
    if not wanted:
        return found
    chosen = [g for g in found if g.name in wanted or g.name.split("-")[0] in wanted]
    for w in wanted:
        if not any(g.name == w or g.name.split("-")[0] == w for g in chosen):
            return f"no group '{w}', there are: " + " ".join(
                sorted({n.split("_")[0] for n in names()})
            )
    return chosen
