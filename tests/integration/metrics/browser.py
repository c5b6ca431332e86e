# SPDX-License-Identifier: Apache-2.0
"""A real browser without a window, for tests of the page for people."""

import html.parser
import struct
import subprocess
import tempfile
import zlib


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
    done = _run(url, milliseconds, "--dump-dom")
    return Text(done.stdout), [line for line in done.stderr.splitlines() if "CONSOLE" in line]


def draw(url, milliseconds, path):
    """Writes a picture of the page after these milliseconds; returns its width, height and pixels.

    The pixels are the lines of the picture, which has three or four bytes for each.
    """
    _run(url, milliseconds, f"--screenshot={path}", "--window-size=1200,1600", "--hide-scrollbars")
    with open(path, "rb") as file:
        data = file.read()
    if data[:8] != b"\x89PNG\r\n\x1a\n":
        raise AssertionError(f"{path} is not a PNG: {data[:8]!r}")
    width, height, depth, color = struct.unpack(">IIBB", data[16:26])
    if depth != 8 or color not in (2, 6):
        raise AssertionError(f"{path} has {depth} bits of kind {color}")
    at, packed = 8, b""
    while at < len(data):
        size, kind = struct.unpack(">I4s", data[at : at + 8])
        packed += data[at + 8 : at + 8 + size] if kind == b"IDAT" else b""
        at += 12 + size
    pixels, line = zlib.decompress(packed), 1 + width * (3 if color == 2 else 4)
    return width, height, [pixels[i : i + line] for i in range(0, len(pixels), line)]


def _run(url, milliseconds, *output):
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
                *output,
                url,
            ],
            capture_output=True,
            text=True,
            timeout=120,
        )
    if done.returncode != 0:
        raise AssertionError(done.stderr)
    return done
