"""Working folder for the files of a test."""

import atexit
import os
import pathlib
import shutil
import sys

LARGE = 1 << 30


def large_files(folder):
    """Returns large sparse files. They use little disk space, but a copy of the build folder would expand them."""
    return [path for path in pathlib.Path(folder).rglob("*")
            if path.is_file() and not path.is_symlink() and path.stat().st_size >= LARGE]


def enter(folder):
    """Enters the emptied folder. Large files are deleted when the test ends."""
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    os.chdir(folder)
    atexit.register(lambda where: [path.unlink() for path in large_files(where)], os.getcwd())


def write(name, text):
    with open(name, "w") as file:
        file.write(text)
    return name


if __name__ == "__main__":
    sys.exit("\n".join(map(str, large_files(sys.argv[1]))) or 0)
