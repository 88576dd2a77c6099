# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""torch.compile support for torch.nn.functional.scaled_mm. PyTorch 2.11 breaks the graph at the
functions below it, although they are ordinary operators and can enter the graph."""

import torch

_FUNCTIONS = ("_scaled_mm_v2", "_scaled_grouped_mm_v2")
_added = []


def add():
    """Allows the functions in torch.compile's graphs unless they are allowed already."""
    from torch._dynamo import trace_rules
    from torch._dynamo.variables import TorchInGraphFunctionVariable
    for name in _FUNCTIONS:
        function = getattr(torch, name)
        if (trace_rules.lookup(function) is not TorchInGraphFunctionVariable
                and id(function) not in trace_rules._allowed_callable_ids):
            torch.compiler.allow_in_graph(function)
            _added.append(function)


def remove():
    """Reverts `add`; existing graphs are kept."""
    if not _added:
        return
    from torch._dynamo import trace_rules
    while _added:
        trace_rules._allowed_callable_ids.remove(id(_added.pop()))
