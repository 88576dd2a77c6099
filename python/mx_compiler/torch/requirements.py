# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Check for a recent PyTorch, before a missing name in an old version raises an obscure error."""

# Versions tested by scripts/test-torch-versions in the nightly checks. Older versions are
# rejected, newer versions accepted.
OLDEST, NEWEST = "2.10", "2.15"

_WANTED = f"mx_compiler.torch: expected PyTorch {OLDEST} or newer, found "


def check():
    """Raises ImportError if PyTorch is missing or too old."""
    try:
        import torch
    except ModuleNotFoundError as error:
        if error.name != "torch":
            raise
        raise ImportError(f"{_WANTED}none: pip install torch") from error
    if not hasattr(torch.nn.functional, "ScalingType"):
        raise ImportError(f"{_WANTED}{torch.__version__}: pip install --upgrade torch")
