#!/usr/bin/env python3
"""Whether the metadata of wheels is what package indexes and people ask for.

    scripts/release_metadata.py VERSION WHEEL.whl|PROJECT...

A PROJECT is a folder with a pyproject.toml: the metadata that its wheel would have is made
by the build backend, which builds nothing for it. Needs packaging and, for projects,
scikit-build-core; classifiers are looked up where trove-classifiers is installed. Exit
status 1, and a line for each reason, if something is wrong."""

import argparse
import contextlib
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import zipfile

from packaging.metadata import Metadata
from packaging.requirements import Requirement

LICENSE = "Apache-2.0 WITH LLVM-exception"
# Extras by the name of the project.
EXTRAS = {"mx-compiler": ["ptxas", "torch"], "mx-compiler-runtime": []}
SCRIPTS = {"mx-compiler": "mx-opt", "mx-compiler-runtime": "mx-launch"}
# The backend looks for pyproject.toml in the current folder.
MAKE = """
import sys
sys.path.insert(0, sys.argv[2])
from release_metadata import flatten
from scikit_build_core.build import prepare_metadata_for_build_wheel
try:
    prepare_metadata_for_build_wheel(sys.argv[1])
except Exception as error:
    sys.exit("; ".join(flatten(error)))
"""


def flatten(error):
    """The messages of an error, or of each in a group of them, in one line."""
    if hasattr(error, "exceptions"):
        for one in error.exceptions:
            yield from flatten(one)
    else:
        yield " ".join(str(error).split()) or type(error).__name__


def files_of_project(folder):
    """The dist-info files by name, as the backend makes them."""
    with tempfile.TemporaryDirectory() as out:
        done = subprocess.run([sys.executable, "-c", MAKE, out, pathlib.Path(__file__).resolve().parent],
                              cwd=folder, capture_output=True, text=True)
        if done.returncode:
            said = (done.stderr.strip() or "it says nothing").splitlines()[-1]
            sys.exit(f"error: {folder}/pyproject.toml: the build backend made no metadata: {said}")
        made, = pathlib.Path(out).glob("*.dist-info")
        return {p.relative_to(made).as_posix(): p.read_bytes() for p in made.rglob("*") if p.is_file()}


def files_of_wheel(path):
    try:
        with zipfile.ZipFile(path) as archive:
            return {name.partition(".dist-info/")[2]: archive.read(name)
                    for name in archive.namelist() if ".dist-info/" in name}
    except (OSError, zipfile.BadZipFile) as why:
        sys.exit(f"error: expected a wheel, found {path}: {why}")


def check_classifiers(found):
    if not found:
        yield "expected classifiers, found none"
    for classifier in found:
        if classifier.startswith("License ::"):
            yield f"expected the license as an expression alone, found the classifier '{classifier}'"
    with contextlib.suppress(ImportError):
        from trove_classifiers import classifiers
        for classifier in set(found) - set(classifiers):
            yield f"expected a classifier that indexes know, found '{classifier}'"


def check(files, version):
    """What is wrong with the files of a dist-info folder, a line each."""
    try:
        data = Metadata.from_email(files.get("METADATA", b""), validate=True)
    except Exception as error:  # a group of errors, of packaging or of Python 3.11
        yield from flatten(error)
        return
    if data.name not in EXTRAS:
        yield f"expected a name of {', '.join(EXTRAS)}, found {data.name}"
        return
    if str(data.version) != version:
        yield f"expected version {version}, as in CMakeLists.txt, found {data.version}"
    if data.license_expression != LICENSE:
        yield f"expected the license {LICENSE}, found {data.license_expression}"
    names = data.license_files or []
    if "LICENSE" not in names or len(files.get("licenses/LICENSE", b"")) < 10000:
        yield f"expected the text of the license as a file LICENSE, found the files {names}"
    if data.description_content_type != "text/markdown" or len(data.description or "") < 300:
        yield "expected the README as the description, in text/markdown, found " \
            f"{len(data.description or '')} characters of {data.description_content_type}"
    for field in "summary", "keywords", "author", "requires_python":
        if not getattr(data, field):
            yield f"expected {field.replace('_', '-')}, found none"
    yield from check_classifiers(data.classifiers or [])
    extras = sorted(data.provides_extra or [])
    if extras != EXTRAS[data.name]:
        yield f"expected the extras {EXTRAS[data.name]}, found {extras}"
    for extra in extras:
        if not any(r.marker and r.marker.evaluate({"extra": extra}) for r in data.requires_dist or []
                   if isinstance(r, Requirement)):
            yield f"expected the extra {extra} to ask for a package, found none"
    if not re.search(rf"^{SCRIPTS[data.name]}\s*=", files.get("entry_points.txt", b"").decode(), re.M):
        yield f"expected the command {SCRIPTS[data.name]}, found none"


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("version", metavar="VERSION")
    parser.add_argument("of", nargs="+", metavar="WHEEL.whl|PROJECT")
    options = parser.parse_args()
    status = 0
    for name in options.of:
        if not os.path.exists(name):
            parser.error(f"expected a wheel or a folder with a pyproject.toml, found {name}")
        files = files_of_project(name) if os.path.isdir(name) else files_of_wheel(name)
        reasons = list(check(files, options.version))
        for reason in reasons:
            print(f"error: {name}: {reason}", file=sys.stderr)
        status |= bool(reasons)
    return status


if __name__ == "__main__":
    sys.exit(main())
