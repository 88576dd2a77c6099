#!/usr/bin/env python3
"""Lists the requirements of mx_compiler.torch and its tests that this Python lacks, and exits
with status 1 if there are any. Packages are found, not imported, because importing PyTorch
takes seconds."""

import argparse
import re
import sys
from importlib import metadata

# Package and oldest version, or None for any.
NEEDED = {
    "torch": (2, 10),
    "numpy": None,
    "ml_dtypes": None,
    "platformdirs": None,
    "safetensors": None,
    "expecttest": None,
}


def lacks(package, oldest):
    """Returns why the package is unsuitable, or None."""
    try:
        version = metadata.version(package)
    except metadata.PackageNotFoundError:
        return package
    if oldest and tuple(map(int, re.findall(r"\d+", version)[:2])) < oldest:
        return f"{package} {'.'.join(map(str, oldest))} or newer (found {version})"
    return None


if __name__ == "__main__":
    argparse.ArgumentParser(description=__doc__).parse_args()
    missing = [why for package, oldest in NEEDED.items() if (why := lacks(package, oldest))]
    print("\n".join(missing), end="\n" if missing else "")
    sys.exit(bool(missing))
