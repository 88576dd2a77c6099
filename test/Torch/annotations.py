"""The parameters and results of all public functions and methods have annotations.

REQUIRES: torch
RUN: %python_torch %s
"""

import importlib.util
import inspect
import pathlib

import mx_compiler as mx
import mx_compiler.torch as mxt
from mx_compiler.torch import checkpoints, ep, gpt_oss

SPECIAL = {"__init__", "__call__", "__getitem__", "__enter__", "__exit__"}
CONSTANTS = {"FORMATS", "RECIPES"}


def functions(cls):
    """Yields the public functions of a class by name, also of its base classes in the package. The
    constructors of tuples and dataclasses have the types of their fields."""
    for name in dir(cls):
        owner = next(base for base in cls.__mro__ if name in base.__dict__ or base is object)
        found = inspect.getattr_static(cls, name)
        found = getattr(found, "fget", getattr(found, "__func__", found))
        if owner.__module__.startswith("mx_compiler") and inspect.isfunction(found) and (
                name in SPECIAL or not name.startswith("_")) and not getattr(found, "is_internal", False):
            yield f"{cls.__name__}.{name}", found


def missing(name, function):
    signature = inspect.signature(function)
    for index, parameter in enumerate(signature.parameters.values()):
        if parameter.annotation is inspect.Parameter.empty and not (index == 0 and parameter.name in ("self", "cls")):
            yield f"{name}: {parameter.name}"
    if signature.return_annotation is inspect.Signature.empty:
        yield f"{name}: result"


names = [*((module, name) for module in (mx, mxt, ep) for name in module.__all__ if name not in CONSTANTS),
         *((gpt_oss, name) for name in ("Checkpoint", "read_experts", "checkpoint_tensors")),
         *((checkpoints, name) for name in checkpoints.__all__ if name != "LAYOUTS")]
if importlib.util.find_spec("transformers"):
    from mx_compiler import transformers
    names += [(transformers, name) for name in transformers.__all__]
public = []
for module, name in names:
    found = getattr(module, name)
    public += functions(found) if inspect.isclass(found) else [(name, found)]
lacking = [gap for name, function in public for gap in missing(name, function)]
assert not lacking, lacking
assert len(public) > 120 and dict(public).keys() >= {"Entry.__call__", "Stream.__enter__", "MXLinear.forward"}, public
# Type checkers read annotations of packages with this file only.
assert (pathlib.Path(mx.__file__).parent / "py.typed").exists()
