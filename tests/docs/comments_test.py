#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""scripts/check_comments.py rejects comments that open as a fragment, and no others."""

import os
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "scripts"))

import check_comments

GOOD_CPP = """
// SPDX-License-Identifier: Apache-2.0
// Reserves memory for all pages of a push.
// What follows on a second line is part of the same block.
void Reserve();

// When a page is full, the next one is allocated.
// num_parts is at least 1.
// f is called once.
void Each(F f);

// offset of the first row, of every partition
int64_t offset = 0;  // in bytes
auto s = "// Of a string";
auto raw = R"(
// Of a raw string
)";
int million = 1'000'000;  // rows; 'a' is not a string
// NOLINTNEXTLINE(google-explicit-constructor)
Call(/*of=*/1, /*which=*/2);
// `which` is "a" or "b".
// kill -9 loses nothing.
// For each row, a page is read.
// On a cycle every walk visits every node.
// Only one piece fails.
// Only after the first process has left does the next one begin.
// At most two wait.
// In-edges of a node.
// std::vector would copy them.
}  // namespace graphd
"""
BAD_CPP = [
    "// Of each type",
    "// Whose checkpoints: the client's connection.",
    "// SPDX-License-Identifier: Apache-2.0\n// What a reader sees.",
    "int x;  // of this partition",
    "int x;  // as DGL writes it",
    "int x;  // in rows\n\n// From the first byte to the last.",
    "/* How to read\n * a file. */",
    "// When a page is full.",
    "// If nothing is left",
    "// until the end of the file",
    "// For data members. The mutex must be held.",
    "// By type: the rows of each.",
    "// On the RPC thread",
    "// Not by name.",
    "// Only for kRun.",
    "// Only before other threads use the table: it is empty.",
    "// the number of rows",
    "//\n// And then some.",
]
GOOD_PYTHON = '''#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Reads graphs."""


def rows(text):
    """text is split at line ends."""
    # Blank lines are left out.
    return text.split("# of a string")  # in order


def ids():
    """``(src, dst)`` of every edge."""
'''
BAD_PYTHON = [
    '"""What is read."""',
    'def f():\n    """of each row"""',
    'class C:\n    """As a list."""',
    "# Where it is",
    "x = 1  # so that it is not empty",
]
GOOD_HASH = """#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Sets up and builds.
echo "# of a string" '# of another' ${#names[@]}
# shellcheck disable=SC2086
make  # twice
"""
BAD_HASH = ["#!/bin/sh\n# What every change must pass.", "make  # so that it is there", "# of all"]


class Comments(unittest.TestCase):
    def rejected(self, reader, text):
        return [comment for comment in reader(text) if check_comments.problem(comment)]

    def check(self, reader, good, bad):
        for comment in self.rejected(reader, good):
            self.fail(f"rejected: {comment}: {check_comments.problem(comment)}")
        for text in bad:
            self.assertEqual(len(self.rejected(reader, text)), 1, text)

    def test_cpp(self):
        self.check(check_comments.cpp_comments, GOOD_CPP, BAD_CPP)

    def test_python(self):
        self.check(check_comments.python_comments, GOOD_PYTHON, BAD_PYTHON)

    def test_shell_cmake_and_capnp(self):
        self.check(check_comments.hash_comments, GOOD_HASH, BAD_HASH)

    def test_a_block_is_named_by_the_line_that_it_opens_on(self):
        found = check_comments.cpp_comments("int x;\n// One line,\n// and another.\n// And more.\n")
        self.assertEqual(
            [(comment.line, comment.text) for comment in found],
            [(2, "One line, and another. And more.")],
        )

    def test_files_are_told_apart_by_name(self):
        self.assertIs(
            check_comments.reader_of("bench/CMakeLists.txt"), check_comments.hash_comments
        )
        self.assertIs(check_comments.reader_of("scripts/test"), check_comments.hash_comments)
        self.assertIs(check_comments.reader_of("daemon/main.cc"), check_comments.cpp_comments)
        self.assertIsNone(check_comments.reader_of("README.md"))


if __name__ == "__main__":
    unittest.main()
