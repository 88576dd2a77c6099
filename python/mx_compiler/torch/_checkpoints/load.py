# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Models of Transformers with the quantized weights of other tools."""

import os
from typing import Any

import torch


def load(path: str | os.PathLike[str], **options: Any) -> torch.nn.Module:
    """Loads a model of Transformers with quantized weights, which another tool stored, unchanged.

    path     folder of the checkpoint, or its name on the hub
    options  recipe, model_class, and arguments of from_pretrained: mx_compiler.transformers.load

    Raises ImportError without Transformers, and the errors of mx_compiler.torch.checkpoints.load_."""
    from ... import transformers    # registers "mx"; Transformers takes seconds to import
    return transformers.load(path, **options)
