# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""That there is a PyTorch new enough, said before a name is missing from an old one."""

# Those that scripts/test-torch-versions tests, which a part of the nightly checks is.
# Older ones are refused, newer ones are not.
OLDEST, NEWEST = "2.10", "2.15"

_WANTED = f"mx_compiler.torch: expected PyTorch {OLDEST} or newer, found "


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
