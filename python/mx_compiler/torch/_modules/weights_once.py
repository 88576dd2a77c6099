# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Quantizes weights once for several forward passes."""

import contextlib
from typing import Iterator

import torch

from .._ops.fp8_mm import fp8_quantize_weight
from .parameters import Replacement, without


@contextlib.contextmanager
def quantize_weights_once(model: torch.nn.Module) -> Iterator[None]:
    """Context in which modules with fp8_scales quantize each weight at its first use only, for the
    batches of an optimizer step:

        with mxt.quantize_weights_once(model):
            for batch in batches:
                loss(model(batch)).backward()
        optimizer.step()

    Results do not change. Until the end of the context, each such weight takes two more bytes per
    element. A weight changed in place is quantized again, except through `.data`, which PyTorch does not
    count as a change. Other modules are not affected, nor modules with DTensor parameters or inside
    FullyShardedDataParallel: FSDP reuses the memory of gathered weights. Raises TypeError if `model` is
    not a torch.nn.Module."""
    if not isinstance(model, torch.nn.Module):
        raise TypeError(f"model: expected a torch.nn.Module, found {type(model).__name__}")
    # By attributes of FullyShardedDataParallel and DTensor: some builds of PyTorch lack torch.distributed.
    sharded = {inner for module in model.modules() if hasattr(module, "_fsdp_wrapped_module")
               for inner in module.modules()}
    modules = [module for module in model.modules()
               if isinstance(module, Replacement) and module not in sharded
               and not any(hasattr(p, "to_local") for p in module.parameters(recurse=False))]
    for module in modules:
        module.quantized_once = {}
    try:
        yield
    finally:
        for module in modules:
            without(module, "quantized_once")


def find_quantized(kept, weight, scales):
    """Returns the quantized weight of a module, or None outside of the context."""
    if kept is None:
        return None
    # The entry keeps the weight, so that no other tensor gets its address.
    found = kept.get(weight.data_ptr())
    if found is None or found[0] != weight._version:
        quantized = fp8_quantize_weight(weight.detach(), scales=scales)
        found = kept[weight.data_ptr()] = weight._version, quantized, weight.detach()
    return found[1]
