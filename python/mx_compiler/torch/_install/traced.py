# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""torch.compile support for torch.nn.functional.scaled_mm. PyTorch 2.11 breaks the graph at the
functions that scaled_mm calls, although they are ordinary operators that a graph may contain."""

import torch

_FUNCTIONS = ("_scaled_mm_v2", "_scaled_grouped_mm_v2")
_added = []


def add():
    """Allows these functions in graphs of torch.compile, unless they are already allowed."""
    from torch._dynamo import trace_rules
    from torch._dynamo.variables import TorchInGraphFunctionVariable
    for name in _FUNCTIONS:
        function = getattr(torch, name)
        if (trace_rules.lookup(function) is not TorchInGraphFunctionVariable
                and id(function) not in trace_rules._allowed_callable_ids):
            torch.compiler.allow_in_graph(function)
            _added.append(function)


def remove():
    """Reverts `add`. Existing graphs are not changed."""
    if not _added:
        return
    from torch._dynamo import trace_rules
    while _added:
        trace_rules._allowed_callable_ids.remove(id(_added.pop()))
