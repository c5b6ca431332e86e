#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Tests that processes which use vectors of different widths compute the same bits, and that programs
refuse other widths. Arguments: the program vector_results, and the part config of a graph with
the features "wide" and "weight"."""

import os
import subprocess
import sys
import unittest

BIN = os.environ.get("GRAPHD_BIN_DIR") or sys.exit("set GRAPHD_BIN_DIR to build/<preset>/bin")
VARIABLE = "GRAPHD_VECTOR_BITS"
PROGRAM, PART_CONFIG = sys.argv[1:3]


def run(command, bits):
    environment = dict(os.environ, GRAPHD_PART_CONFIG=PART_CONFIG, GRAPHD_SERVER_NAME="")
    environment[VARIABLE] = bits
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)


class SameResults(unittest.TestCase):
    def results(self, bits):
        """Returns the bits that a process uses if it may use so many, and its results by name."""
        done = run([PROGRAM], bits)
        self.assertEqual(done.returncode, 0, done.stderr)
        lines = dict(line.rsplit(" ", 1) for line in done.stdout.splitlines())
        return int(lines.pop("bits")), lines

    def test_vectors_of_every_width_give_the_same_bits(self):
        used, least = self.results("128")
        self.assertEqual(used, 128)
        self.assertGreater(len(least), 15, least)
        for bits in (256, 512):
            used, found = self.results(str(bits))
            if used < bits:
                print(f"NOT COMPARED with {bits} bits: this processor's vectors have {used} bits")
                continue
            self.assertEqual(found, least, f"{bits} bits")
            print(f"{len(found)} results with {bits} bits are those with 128 bits")

    def test_programs_refuse_other_widths(self):
        graphd = ["graphd", "--server_name", "s", "--part_config", PART_CONFIG, "--part_id", "0"]
        for name, *arguments in (graphd, ["graphctl", "ps"], [PROGRAM]):
            for bits in ("64", "1024", "256 ", "avx2"):
                done = run([os.path.join(BIN, name), *arguments], bits)
                self.assertNotEqual(done.returncode, 0, name)
                self.assertIn(f"{VARIABLE} '{bits}': use 128, 256 or 512", done.stderr)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
