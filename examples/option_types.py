# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Option types for argparse."""

import argparse
import contextlib
import os
import pathlib
import re

import torch


def expected(what, found):
    return argparse.ArgumentTypeError(f"expected {what}, found {found}")


def whole(least, most=2**31 - 1):
    """Returns a type for integers from `least` to `most`."""
    def read(text):
        value = int(text) if re.fullmatch("-?[0-9]{1,30}", text) else None
        if value is None or not least <= value <= most:
            raise expected(f"an integer from {least} to {most}", text)
        return value
    return read


def device(text):
    """Converts `text` to a torch.device, which must be the CPU or a GPU available to PyTorch."""
    if not re.fullmatch("cpu|cuda(:[0-9]{1,3})?", text):
        raise expected("cuda, cuda:N or cpu", text)
    count = torch.cuda.device_count()
    number = int(text.partition(":")[2] or 0)
    if text != "cpu" and number >= count:
        raise expected(f"cpu or one of the {count} GPUs that PyTorch finds", text)
    return torch.device(text)


def new_folder(text):
    path = pathlib.Path(text)
    if os.path.lexists(path):
        raise expected("a folder that does not exist yet", text)
    return path


@contextlib.contextmanager
def writing(option, path):
    """Converts an OSError in the body to a ValueError that names the option."""
    try:
        yield
    except OSError as error:
        raise ValueError(f"{option}: expected a writable path, found {path}: "
                         f"{error.strerror}") from None


def output_file(text):
    """Converts `text` to a path. The file, or the folder if there is no file, must be writable."""
    path = pathlib.Path(text)
    place = path if path.exists() else path.parent
    if path.is_dir() or not place.exists() or not os.access(place, os.W_OK):
        raise expected("a writable file in an existing folder", text)
    return path
