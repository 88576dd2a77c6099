"""The site has the pages of docs/, those of simulator/ and the reference that scripts/gen_docs.py wrote.
The order of pages is that of docs/README.md. Files that pages link come with the site, as text below
source/; a source of the reference is linked as its page."""

import os
import pathlib
import re

from mkdocs.structure.files import File

ROOT = pathlib.Path(__file__).resolve().parent.parent
REFERENCE = ROOT / "build/docs/reference"
LINK = re.compile(r"(\]\()([^)\s#]+)(#[^)\s]*)?\)")
# Sources of the reference, and their pages. test/Docs/links.py reads them too.
SOURCES = ((r"include/mx/Dialect/(\w+)/IR/\w+\.td", r"\1"), (r"include/mx/.*/Passes\.td", "Passes"),
           (r"python/mx_compiler/__init__\.py", "PythonAPI"), (r"python/mx_compiler/torch/\w+\.py", "TorchAPI"))


def path_of(uri):
    """The path of a page, relative to the root."""
    return uri if uri.startswith("simulator/") else f"docs/{uri}"


def uri_of(path):
    """The place in the site of a file of the repository."""
    for source, page in SOURCES:
        if match := re.fullmatch(source, path):
            return f"reference/{match.expand(page)}.md"
    if re.fullmatch(r"simulator/(README\.md|docs/.*\.(md|svg|png))", path):
        return path
    return path.removeprefix("docs/") if path.startswith("docs/") else f"source/{path}.txt"


def target_of(uri, target):
    """The path, relative to the root, that a link of a page names; None for other links."""
    if "://" in target or target.startswith(("mailto:", "/")):
        return None
    return os.path.normpath(os.path.join(os.path.dirname(path_of(uri)), target))


def pages_of(uri, text):
    """The pages that a text of a page links, each once, in its order."""
    paths = (target_of(uri, target) for _, target, _ in LINK.findall(text))
    return list(dict.fromkeys(page for page in map(uri_of, filter(None, paths)) if page.endswith(".md")))


def simulator_files():
    files = sorted((ROOT / "simulator").glob("docs/**/*"))
    return [path.relative_to(ROOT).as_posix() for path in (ROOT / "simulator/README.md", *files)
            if path.is_file() and path.suffix in (".md", ".svg", ".png")]


def on_config(config):
    """Sections are those of docs/README.md, a page in the first that has it; the pages of the simulator
    that it does not name follow those that it does."""
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
    """A file, or the names of those in a folder."""
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
    """Links lead to the site's places. Anchors are those of its pages, not of text."""
    def inside(match):
        path = target_of(page.file.src_uri, match[2])
        if path is None or page.file.src_uri.startswith("reference/") and (REFERENCE / match[2]).exists():
            return match[0]
        uri = uri_of(path)
        up = os.path.relpath(uri, os.path.dirname(page.file.src_uri) or ".")
        return f"{match[1]}{up}{match[3] or '' if uri.endswith('.md') else ''})"

    return LINK.sub(inside, markdown)
