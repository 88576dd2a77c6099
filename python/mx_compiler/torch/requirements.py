# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""That there is a PyTorch new enough, said before a name is missing from an old one."""

_WANTED = "mx_compiler.torch: expected PyTorch 2.10 or newer, found "


def check():
    """Raises an ImportError."""
    try:
        import torch
    except ModuleNotFoundError as error:
        if error.name != "torch":
            raise
        raise ImportError(f"{_WANTED}none: pip install torch") from error
    if not hasattr(torch.nn.functional, "ScalingType"):
        raise ImportError(f"{_WANTED}{torch.__version__}: pip install --upgrade torch")
