# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""torch.compile through torch.nn.functional.scaled_mm: PyTorch 2.11 does not know the
functions below it, and breaks the graph there. They are operators like others, so they
may go into the graph as they are."""

import torch

_FUNCTIONS = ("_scaled_mm_v2", "_scaled_grouped_mm_v2")
_added = []


def add():
    """Lets torch.compile put the functions into its graphs, if it does not already."""
    from torch._dynamo import trace_rules
    from torch._dynamo.variables import TorchInGraphFunctionVariable
    for name in _FUNCTIONS:
        function = getattr(torch, name)
        if (trace_rules.lookup(function) is not TorchInGraphFunctionVariable
                and id(function) not in trace_rules._allowed_callable_ids):
            torch.compiler.allow_in_graph(function)
            _added.append(function)


def remove():
    """What torch.compile knows is as before; graphs that it has made stay."""
    if not _added:
        return
    from torch._dynamo import trace_rules
    while _added:
        trace_rules._allowed_callable_ids.remove(id(_added.pop()))
