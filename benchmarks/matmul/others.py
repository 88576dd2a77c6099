# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""External baselines: --peers=FILE.py names a module with peers(problem), which returns objects
with the interface of implementations.py for the operands problem.sets. launch(count) runs the
last set, and its results are compared. A baseline in another format defines wrong(), which counts
its wrong elements; all other baselines are checked like mx."""

import importlib.util


def load(path):
    """Returns peers(problem) of the module, or a function without results if there is no path."""
    if not path:
        return lambda problem: []
    spec = importlib.util.spec_from_file_location("peers_beside", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.peers


def count_wrong(problem, peers):
    """Returns the number of wrong elements by name."""
    return {peer.name: peer.wrong() if hasattr(peer, "wrong") else problem.wrong(peer)
            for peer in peers}
