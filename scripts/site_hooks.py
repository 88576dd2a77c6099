"""What mkdocs.yml cannot say: the order of pages is that of docs/README.md, and what pages link outside
of docs/ comes with the site, as text below source/."""

import os
import pathlib
import re

from mkdocs.structure.files import File

ROOT = pathlib.Path(__file__).resolve().parent.parent
LINK = re.compile(r"(\]\()([^)\s#]+)(#[^)\s]*)?\)")


def links(page):
    """The pages that a page links, each once, by their paths in docs/."""
    text = (ROOT / "docs" / page).read_text()
    found = [os.path.normpath(os.path.join(os.path.dirname(page), target))
             for _, target, _ in LINK.findall(text) if target.endswith(".md") and "://" not in target]
    return list(dict.fromkeys(path for path in found if not path.startswith("..")))


def on_config(config):
    """Sections are those of docs/README.md, in its order, a page in the first that has it. The
    pages of a folder follow its own index."""
    sections, seen = [], {"README.md"}
    for title, text in re.findall(r"^## (.+?)$(.*?)(?=^## |\Z)", "## Quickstarts\n" + (
            ROOT / "docs/README.md").read_text(), re.M | re.S):
        pages = []
        for target in dict.fromkeys(re.findall(r"\]\(([\w/]+\.md)\)", text)):
            if target in seen:
                continue
            seen.add(target)
            if not target.endswith("/README.md"):
                pages.append(target)
                continue
            folder = os.path.dirname(target)
            inner = [page for page in links(target) if page.startswith(folder + "/") and page not in seen]
            seen.update(inner)
            pages.append({folder: [target, *inner]})
        sections.append({title: pages})
    config.nav = [{"Documentation": "README.md"}, *sections]
    return config


def outside(page, target):
    """The path, relative to the root, of what a link of a page names outside of docs/, or None."""
    if "://" in target or target.startswith(("mailto:", "/")):
        return None
    path = os.path.normpath(os.path.join("docs", os.path.dirname(page), target))
    return None if path.startswith("docs/") or path == "docs" else path


def text_of(path):
    """A file, or the names of those in a folder."""
    if (ROOT / path).is_file():
        return (ROOT / path).read_bytes()
    names = (entry.name + "/" * entry.is_dir() for entry in sorted((ROOT / path).iterdir()))
    return "".join(f"{name}\n" for name in names if not name.startswith((".", "__"))).encode()


def on_files(files, config):
    for page in [file for file in files if file.is_documentation_page()]:
        for _, target, _ in LINK.findall(page.content_string):
            path = outside(page.src_uri, target)
            uri = path and f"source/{path}.txt"
            if path and (ROOT / path).exists() and not files.get_file_from_path(uri):
                files.append(File.generated(config, uri, content=text_of(path)))
    return files


def on_page_markdown(markdown, page, config, files):
    def inside(match):
        path = outside(page.file.src_uri, match[2])
        if not path:
            return match[0]
        up = os.path.relpath(f"source/{path}.txt", os.path.dirname(page.file.src_uri) or ".")
        return f"{match[1]}{up})"

    return LINK.sub(inside, markdown)
