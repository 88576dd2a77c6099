# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Checkpoints with quantized weights of other tools: compressed-tensors, ModelOpt, gpt-oss, DeepSeek and torchao.
docs/guide/Models.md describes the module."""

from ._checkpoints.files import Checkpoint
from ._checkpoints.layouts import LAYOUTS, Layout
from ._checkpoints.models import describe, load_, tensors

__all__ = ["Checkpoint", "describe", "Layout", "LAYOUTS", "load_", "tensors"]


def __dir__():
    return sorted([*__all__, "__doc__"])
