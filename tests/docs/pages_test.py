#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Checks the pages in Markdown: links within the repository have a target, code blocks can be
parsed, and the glossary stays short. Other tests run the examples of tutorials and manuals."""
import ast
import os
import re
import subprocess
import unittest

ROOT = os.path.realpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
NOT_OURS = {"build", ".git", ".cache", ".github"}
MOST_TERMS = 50  # a newcomer should be able to read all of them
BLOCK = re.compile(r"^(`{3,})([^\n`]*)\n(.*?)^\1 *$", re.MULTILINE | re.DOTALL)


def read(path):
    with open(os.path.join(ROOT, path), encoding="utf-8") as file:
        return file.read()


def pages():
    for folder, folders, names in os.walk(ROOT):
        folders[:] = [name for name in folders if name not in NOT_OURS]
        for name in names:
            if name.endswith(".md"):
                yield os.path.relpath(os.path.join(folder, name), ROOT)


def blocks(page):
    """Yields (line, language, text) of each block of code."""
    text = read(page)
    for match in BLOCK.finditer(text):
        language = (match.group(2).split() or [""])[0]
        yield text.count("\n", 0, match.start()) + 1, language, match.group(3)


def anchors(page):
    """Returns the anchors that a page's headings get where Markdown is shown."""
    text = BLOCK.sub("", read(page))
    headings = re.findall(r"^#{1,6} (.*)$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


class Pages(unittest.TestCase):
    def each_block(self, languages, mistake):
        """Fails with the mistakes that mistake(text) finds in blocks of these languages."""
        found, checked = [], 0
        for page in pages():
            for line, language, text in blocks(page):
                if language in languages:
                    checked += 1
                    said = mistake(text)
                    if said:
                        found.append(f"{page}:{line}: {said}")
        self.assertGreater(checked, 5)
        self.assertFalse(found, "\n".join(found))

    def test_links_have_targets(self):
        wrong, checked = [], 0
        for page in pages():
            text = re.sub(r"`[^`\n]*`", "", BLOCK.sub("", read(page)))
            for target in re.findall(r"\]\(([^)\s]+)\)", text):
                if re.match(r"\w+:", target):
                    continue
                checked += 1
                path, _, anchor = target.partition("#")
                file = os.path.normpath(os.path.join(os.path.dirname(page), path)) if path else page
                if not os.path.exists(os.path.join(ROOT, file)):
                    wrong.append(f"{page}: {target}: there is no such file")
                elif anchor and file.endswith(".md") and anchor not in anchors(file):
                    wrong.append(f"{page}: {target}: there is no such heading")
        self.assertGreater(checked, 50)
        self.assertFalse(wrong, "\n".join(wrong))

    def test_the_glossary_is_short_and_sorted(self):
        terms = re.findall(r"^- \*\*([^*]+)\*\*: ", read("docs/glossary.md"), re.MULTILINE)
        self.assertEqual(len(terms), read("docs/glossary.md").count("\n- "))
        self.assertGreater(len(terms), 20)
        self.assertLessEqual(len(terms), MOST_TERMS)
        self.assertEqual(terms, sorted(terms, key=str.lower))

    def test_python_compiles(self):
        def mistake(text):
            try:
                ast.parse(text)
            except SyntaxError as error:
                return f"line {error.lineno} of the block: {error.msg}"
            return None
        self.each_block({"python"}, mistake)

    def test_shell_can_be_parsed(self):
        self.each_block({"sh", "bash"}, lambda text: subprocess.run(
            ["bash", "-n"], input=text, capture_output=True, text=True, check=False).stderr)


if __name__ == "__main__":
    unittest.main()
