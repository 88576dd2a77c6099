"""Computes the metadata of wheels that depends on the public address of the repository, for
scikit-build-core ([[tool.dynamic-metadata]] in pyproject.toml).

MX_PROJECT_URL is the address, https://HOST/OWNER/NAME; the workflow of releases sets it. Relative links
of the README then lead to the files of the version's tag. Without an address there are no project
URLs, and such links become text."""

import os
import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parent.parent
BLOCKS = re.compile(r"(^```.*?^```)", re.M | re.S)  # of code
RELATIVE = r"\((?![a-z]+:|#)([^)\s#]+)([^)\s]*)\)"


def dynamic_metadata(settings, project):
    address = os.environ.get("MX_PROJECT_URL", "").rstrip("/")
    if address and not re.fullmatch(r"https://[\w.-]+(/[\w.-]+)+", address):
        raise ValueError(f"MX_PROJECT_URL: expected https://HOST/OWNER/NAME, found {address}")
    tag = f"v{project['version']}"

    def url(path):
        is_image = path.endswith((".svg", ".png"))
        return f"{address}/{'raw' if is_image else 'tree' if (ROOT / path).is_dir() else 'blob'}/{tag}/{path}"

    def absolute(link):
        return f"]({url(os.path.relpath(pathlib.Path(link[1]).resolve(), ROOT))}{link[2]})"

    def rewrite(text):
        if text.startswith("```"):
            return text
        if address:
            return re.sub(r"\]" + RELATIVE, absolute, text)
        for _ in range(2):  # images inside of links
            text = re.sub(r"!?\[([^\[\]]*)\]" + RELATIVE, r"\1", text)
        return text

    text = "".join(map(rewrite, BLOCKS.split(pathlib.Path("README.md").read_text(encoding="utf-8"))))
    urls = {"Homepage": address, "Documentation": url("docs/README.md"), "Source": address,
            "Issues": f"{address}/issues", "Changelog": url("CHANGELOG.md")}
    return {"readme": {"text": text, "content-type": "text/markdown"}, "urls": urls if address else {}}
