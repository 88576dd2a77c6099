"""The description of wheels is the README with links that work on an index page, and wheels have project URLs if the
address of the repository is known.

REQUIRES: wheel-runtime, numpy
RUN: %python %s %mx_src
"""

import os
import pathlib
import re
import subprocess
import sys

source = pathlib.Path(sys.argv[1])
sys.path.insert(0, str(source / "scripts"))
sys.dont_write_bytecode = True
from packaging.metadata import Metadata
from release_metadata import URLS, check, files_of_project

ADDRESS = "https://example.org/mx/project"
LINK = re.compile(r"\]\(([^)\s]+)\)")


def read(project, address):
    """Returns the metadata of a project for an address."""
    os.environ["MX_PROJECT_URL"] = address
    files = files_of_project(source / project)
    data = Metadata.from_email(files["METADATA"], validate=True)
    assert not list(check(files, str(data.version)))
    return data


readme = (source / "README.md").read_text()
found = read(".", ADDRESS + "/")
assert set(found.project_urls) == URLS and found.project_urls["Homepage"] == ADDRESS
tag = f"v{found.version}"
assert found.project_urls["Changelog"] == f"{ADDRESS}/blob/{tag}/CHANGELOG.md"
# Each link leads to the same file, in the same order. Everything else is the README.
links = LINK.findall(readme), LINK.findall(found.description)
for before, after in zip(*links, strict=True):
    kind, _, path = after.removeprefix(f"{ADDRESS}/").partition(f"/{tag}/")
    expected = {".svg": "raw", ".png": "raw", "": "tree"}.get(pathlib.Path(before).suffix, "blob")
    assert before == after or (path, kind) == (before, "blob" if before == "LICENSE" else expected), (before, after)
assert LINK.sub("](", found.description).strip() == LINK.sub("](", readme).strip()
assert len(links[0]) > 30 and read("python/runtime", ADDRESS).project_urls == found.project_urls

# Without an address the text of such links remains.
plain = read(".", "")
assert not plain.project_urls and "example.org" not in plain.description
assert set(LINK.findall(plain.description)) == {link for link in links[0] if link.startswith("https:")}
assert "\nDocumentation · Public interfaces · Examples ·\n" in plain.description

for wrong in "github.com/mx/project", "https://example.org", "http://example.org/mx/project":
    done = subprocess.run([sys.executable, source / "scripts/release_metadata.py", "0", source], text=True,
                          capture_output=True, env={**os.environ, "MX_PROJECT_URL": wrong})
    assert f"MX_PROJECT_URL: expected https://HOST/OWNER/NAME, found {wrong}\n" in done.stderr, done
