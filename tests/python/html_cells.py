# SPDX-License-Identifier: Apache-2.0
"""Reads the tables of HTML, to test what notebooks show."""

import html.parser


class Cells(html.parser.HTMLParser):
    """Collects the texts of cells, row by row, and checks that elements are nested."""

    def __init__(self, text):
        super().__init__()
        self.rows, self.open = [], []
        self.feed(text)
        self.close()
        assert not self.open, self.open

    def handle_starttag(self, tag, attrs):
        self.open.append(tag)
        if tag in ("tr", "caption"):
            self.rows.append([])
        if tag in ("td", "th", "caption"):
            self.rows[-1].append("")

    def handle_endtag(self, tag):
        assert self.open.pop() == tag, tag

    def handle_data(self, data):
        self.rows[-1][-1] += data
