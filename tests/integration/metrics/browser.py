# SPDX-License-Identifier: Apache-2.0
"""A real browser without a window, for tests of the page for people."""

import html.parser
import subprocess
import tempfile


class Text(html.parser.HTMLParser):
    """The texts of a page's elements, without scripts and styles, and the class of its state."""

    def __init__(self, page):
        super().__init__()
        self.texts, self.state, self.hidden = [], None, 0
        self.feed(page)

    def handle_starttag(self, tag, attributes):
        self.hidden += tag in ("script", "style", "noscript")
        if ("id", "state") in attributes:
            self.state = dict(attributes)["class"]

    def handle_endtag(self, tag):
        self.hidden -= tag in ("script", "style", "noscript")

    def handle_data(self, data):
        if not self.hidden and data.strip():
            self.texts.append(data.strip())

    def after(self, text):
        return self.texts[self.texts.index(text) + 1]


def browse(url, milliseconds):
    """Returns the page after these milliseconds of the browser's time, and what its console said."""
    with tempfile.TemporaryDirectory() as profile:
        done = subprocess.run(
            [
                "chromium",
                "--headless",
                "--no-sandbox",  # the sandbox refuses root
                "--disable-gpu",
                "--enable-logging=stderr",
                f"--user-data-dir={profile}",
                f"--virtual-time-budget={milliseconds}",
                "--dump-dom",
                url,
            ],
            capture_output=True,
            text=True,
            timeout=120,
        )
    if done.returncode != 0:
        raise AssertionError(done.stderr)
    return Text(done.stdout), [line for line in done.stderr.splitlines() if "CONSOLE" in line]
