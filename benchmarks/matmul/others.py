# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Peers that are no part of this project: --peers=FILE.py, a module whose peers(problem)
lists objects as implementations.py has them, on the operands of problem.sets; the last
set, launch(count), is for the comparison. One of another format has wrong(), which
counts its wrong elements; that of the others is counted as that of mx."""

import importlib.util


def load(path):
    """peers(problem) of the module, or what finds none if there is no path."""
    if not path:
        return lambda problem: []
    spec = importlib.util.spec_from_file_location("peers_beside", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.peers


def count_wrong(problem, peers):
    """By name."""
    return {peer.name: peer.wrong() if hasattr(peer, "wrong") else problem.wrong(peer)
            for peer in peers}
