# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Checks that PyTorch is recent enough. Without this check, a name that is missing in an old version
would raise an obscure error."""


# Range of versions that scripts/test-torch-versions tests in the nightly checks. Older versions are
# rejected, and newer versions are accepted.
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
