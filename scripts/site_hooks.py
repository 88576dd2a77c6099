"""Assembles the site from the pages in docs/ and simulator/ and from the reference,
written by scripts/gen_docs.py. Pages appear in the order of docs/README.md. Linked files
are included as text below source/; a link to a source in SOURCES leads to its reference page."""

import os
import pathlib
import re

from mkdocs.structure.files import File

ROOT = pathlib.Path(__file__).resolve().parent.parent
REFERENCE = ROOT / "build/docs/reference"
LINK = re.compile(r"(\]\()([^)\s#]+)(#[^)\s]*)?\)")
# Patterns of source files, each with its reference page. Also read by test/Docs/links.py.
SOURCES = ((r"include/mx/Dialect/(\w+)/IR/\w+\.td", r"\1"), (r"include/mx/.*/Passes\.td", "Passes"),
           (r"python/mx_compiler/__init__\.py", "PythonAPI"), (r"python/mx_compiler/torch/\w+\.py", "TorchAPI"))


def path_of(uri):
    """Returns the path of a page relative to the root."""
    return uri if uri.startswith("simulator/") else f"docs/{uri}"


def uri_of(path):
    """Returns the site location of a repository file."""
    for source, page in SOURCES:
        if match := re.fullmatch(source, path):
            return f"reference/{match.expand(page)}.md"
    if re.fullmatch(r"simulator/(README\.md|docs/.*\.(md|svg|png))", path):
        return path
    return path.removeprefix("docs/") if path.startswith("docs/") else f"source/{path}.txt"


def target_of(uri, target):
    """Returns the path, relative to the root, of a link in a page; None for other links."""
    if "://" in target or target.startswith(("mailto:", "/")):
        return None
    return os.path.normpath(os.path.join(os.path.dirname(path_of(uri)), target))


def pages_of(uri, text):
    """Returns the pages linked from a text, without repetitions."""
    paths = (target_of(uri, target) for _, target, _ in LINK.findall(text))
    return list(dict.fromkeys(page for page in map(uri_of, filter(None, paths)) if page.endswith(".md")))


def simulator_files():
    files = sorted((ROOT / "simulator").glob("docs/**/*"))
    return [path.relative_to(ROOT).as_posix() for path in (ROOT / "simulator/README.md", *files)
            if path.is_file() and path.suffix in (".md", ".svg", ".png")]


def on_config(config):
    """Builds the navigation from the sections of docs/README.md; a page belongs to the first
    section that links it. Linked simulator pages come first."""
    sections, seen = [], {"README.md"}
    index = "## Quickstarts\n" + (ROOT / "docs/README.md").read_text()
    for title, text in re.findall(r"^## (.+?)$(.*?)(?=^## |\Z)", index, re.M | re.S):
        pages = [page for page in pages_of("README.md", text) if page not in seen]
        seen.update(pages)
        if any(page.startswith("simulator/") for page in pages) and title != "Quickstarts":
            rest = [file for file in simulator_files() if file.endswith(".md") and file not in seen]
            seen.update(rest)
            pages += rest
        if pages:
            sections.append({title: pages})
    config.nav = [{"Documentation": "README.md"}, *sections]
    return config


def text_of(path):
    """Returns the content of a file, or the names in a folder."""
    if (ROOT / path).is_file():
        return (ROOT / path).read_bytes()
    names = (entry.name + "/" * entry.is_dir() for entry in sorted((ROOT / path).iterdir()))
    return "".join(f"{name}\n" for name in names if not name.startswith((".", "__"))).encode()


def on_files(files, config):
    for path in simulator_files():
        files.append(File.generated(config, path, content=(ROOT / path).read_bytes()))
    for path in sorted(REFERENCE.glob("*.md")):
        files.append(File.generated(config, f"reference/{path.name}", content=path.read_bytes()))
    for page in [file for file in files if file.is_documentation_page()]:
        for _, target, _ in LINK.findall(page.content_string):
            path = target_of(page.src_uri, target)
            uri = path and uri_of(path)
            if uri and uri.startswith("source/") and (ROOT / path).exists() and not files.get_file_from_path(uri):
                files.append(File.generated(config, uri, content=text_of(path)))
    return files


def on_page_markdown(markdown, page, config, files):
    """Redirects links to locations in the site. Only pages of the site support anchors."""
    def inside(match):
        path = target_of(page.file.src_uri, match[2])
        if path is None or page.file.src_uri.startswith("reference/") and (REFERENCE / match[2]).exists():
            return match[0]
        uri = uri_of(path)
        up = os.path.relpath(uri, os.path.dirname(page.file.src_uri) or ".")
        return f"{match[1]}{up}{match[3] or '' if uri.endswith('.md') else ''})"

    return LINK.sub(inside, markdown)
