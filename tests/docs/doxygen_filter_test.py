#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Tests the filter that turns the headers' comments into Doxygen's: it changes no code and loses no
comment."""
import glob
import os
import re
import subprocess
import sys
import tempfile
import unittest

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
FILTER = os.path.join(ROOT, "docs", "site", "doxygen_filter.py")
HEADERS = os.path.join(ROOT, "libclient", "include", "graphd", "*.h")


def filtered(path):
    return subprocess.run([sys.executable, FILTER, path], capture_output=True, text=True,
                          timeout=60, check=True).stdout


def converted(text):
    with tempfile.NamedTemporaryFile("w", suffix=".h") as file:
        file.write(text)
        file.flush()
        return filtered(file.name)


def code(text):
    """Returns the lines of a header without comments and without what the filter leaves out."""
    text = re.sub(r"/\*\*.*?\*/", "", text, flags=re.DOTALL)
    lines = (re.sub(r"\s*//.*", "", line) for line in text.split("\n"))
    return [line for line in lines if line.strip() and not re.match(r"\s*using \w+::\w+;$", line)]


class Filter(unittest.TestCase):
    def test_code_stays_as_it_is(self):
        headers = glob.glob(HEADERS)
        self.assertGreater(len(headers), 10)
        for path in headers:
            with open(path, encoding="utf-8") as file:
                self.assertEqual(code(filtered(path)), code(file.read()), path)

    def test_comments_before_declarations_document_them(self):
        self.assertIn("/**\nAdds <code>a&amp;b</code> to 1 &lt; 2.\n*/\nint Add();",
                      converted("namespace graphd {\n// Adds `a&b` to 1 < 2.\nint Add();\n}\n"))

    def test_comments_behind_members_document_them(self):
        wanted = "  int a = 0;  ///< in steps\n              ///< of one\n  int b;\n"
        self.assertIn(wanted, converted(
            "namespace graphd {\nstruct S {\n  int a = 0;  // in steps\n              // of one\n"
            "  int b;\n};\n}\n"))

    def test_the_comment_before_the_namespace_documents_the_file(self):
        self.assertIn("/**\n@file\nWalks.\n*/\n", converted(
            "// SPDX-License-Identifier: Apache-2.0\n#pragma once\n\n// Walks.\n\n"
            "namespace graphd {\n}\n"))

    def test_indented_lines_are_code(self):
        self.assertIn("/**\nThen\n\n@verbatim\nRun(a<b>);\n@endverbatim\n*/\nvoid F();",
                      converted("namespace graphd {\n// Then\n//\n//   Run(a<b>);\nvoid F();\n}\n"))

    def test_comments_in_bodies_stay(self):
        text = "namespace graphd {\ninline int F() {\n  // Why.\n  return 1;  // because\n}\n}\n"
        self.assertEqual(converted(text), text)

    def test_internal_declarations_are_left_out(self):
        self.assertIn("/// @cond\n  int x();\n/// @endcond\n\n  int y();",
                      converted("namespace graphd {\nclass C {\n public:\n"
                                "  // Internal: x.\n  int x();\n\n  int y();\n};\n}\n"))


if __name__ == "__main__":
    unittest.main()
