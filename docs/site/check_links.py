#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Fails if a link of the built site leads nowhere: check_links.py FOLDER.

Sphinx checks what it makes links of itself; this also sees the manuals' and the theme's.
"""
import html.parser
import os
import sys
from urllib.parse import unquote, urlsplit


class Page(html.parser.HTMLParser):
    def __init__(self, path):
        super().__init__()
        self.links, self.anchors = [], set()
        with open(path, encoding="utf-8") as file:
            self.feed(file.read())

    def handle_starttag(self, tag, attrs):
        for name, value in attrs:
            if name in ("id", "name") and value:
                self.anchors.add(value)
            elif name in ("href", "src") and value:
                self.links.append(value)


def main(folder):
    pages = {os.path.normpath(os.path.join(where, name)): None
             for where, _, names in os.walk(folder) for name in names if name.endswith(".html")}
    if not pages:
        sys.exit(f"check_links.py: no pages in {folder}")
    for path in pages:
        pages[path] = Page(path)
    broken = set()
    for path, page in pages.items():
        for link in page.links:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            target = path if not parts.path else os.path.normpath(
                os.path.join(os.path.dirname(path), unquote(parts.path)))
            if not os.path.exists(target):
                broken.add(f"{path}: {link}: there is no such file")
            elif (
                parts.fragment
                and target in pages
                and unquote(parts.fragment) not in pages[target].anchors
            ):
                    broken.add(f"{path}: {link}: there is no such anchor")
    if broken:
        sys.exit("\n".join(sorted(broken)))


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    main(sys.argv[1])
