"""Files of a test in a folder of its own."""

import os
import shutil


def enter(folder):
    """Goes to the folder, which is empty then."""
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    os.chdir(folder)


def write(name, text):
    with open(name, "w") as file:
        file.write(text)
    return name
