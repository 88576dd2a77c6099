#!/usr/bin/env python3
"""Checks all links of a site on disk: each must lead to a file of the site and, with an anchor,
to an element of that file.

    scripts/check_site.py FOLDER

External links are not followed, but pages must load nothing from other hosts. Exit status 1 for
a broken link."""

import html.parser
import pathlib
import sys
import urllib.parse


class Page(html.parser.HTMLParser):
    def __init__(self, path):
        super().__init__()
        self.links, self.loads, self.anchors = [], [], set()
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attributes):
        attributes = dict(attributes)
        self.anchors |= {attributes[key] for key in ("id", "name") if attributes.get(key)}
        if tag == "a" and attributes.get("href"):
            self.links.append(attributes["href"])
        loaded = attributes.get("src") if tag in ("img", "script", "iframe") else None
        if tag == "link" and attributes.get("rel") in ("stylesheet", "icon", "preload"):
            loaded = attributes.get("href")
        if loaded:
            self.loads.append(loaded)


def faults(root):
    pages = {path: Page(path) for path in sorted(root.rglob("*.html"))}
    if not pages:
        yield f"{root}: expected a site, found no pages"
    for path, page in pages.items():
        for link in [*page.links, *page.loads]:
            url = urllib.parse.urlsplit(link)
            if url.scheme or url.netloc:
                if link in page.loads and url.scheme != "data":
                    yield f"{path}: loads {link}: expected a file of the site"
                continue
            name = urllib.parse.unquote(url.path)
            target = (root / name.lstrip("/") if name.startswith("/") else path.parent / name).resolve() \
                if name else path
            if target.is_dir():
                target /= "index.html"
            anchor = urllib.parse.unquote(url.fragment)
            if not target.is_file():
                yield f"{path}: no such file: {link}"
            elif anchor and target.suffix == ".html" and anchor not in pages[target].anchors:
                yield f"{path}: no such heading: {link}"


def main():
    if len(sys.argv) != 2 or sys.argv[1].startswith("-"):
        sys.exit(__doc__)
    root = pathlib.Path(sys.argv[1]).resolve()
    found = list(faults(root))
    print("\n".join(found) or f"{sum(1 for _ in root.rglob('*.html'))} pages, no broken links")
    return bool(found)


if __name__ == "__main__":
    sys.exit(main())
