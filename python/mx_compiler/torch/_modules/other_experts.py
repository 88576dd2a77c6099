# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Modules that look like experts and that `convert` does not know."""


def describe_experts(module):
    """Why `convert` leaves a module of experts as it is, and what to do; None for a module
    that has none: experts are two or more parameters of 3 dimensions, with a
    matrix for each of several experts."""
    found = [(name, parameter.shape[0]) for name, parameter in
             module.named_parameters(recurse=False)
             if parameter.dim() == 3 and parameter.is_floating_point()]
    counts = {count for _, count in found}
    if len(found) < 2 or len(counts) != 1 or counts == {1}:
        return None
    names = ", ".join(name for name, _ in found)
    return ("expected experts with parameters w1, w2, w3 whose forward takes (x, "
            f"num_tokens_per_expert), found {names}: mx_compiler.torch.register_experts tells "
            "convert how to replace them")
