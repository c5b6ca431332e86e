#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Tests scripts/debian_graph.py on a few packages, and graphctl partition on its output."""
import gzip
import json
import math
import os
import pathlib
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[3]
GRAPHCTL = os.path.join(os.environ["GRAPHD_BIN_DIR"], "graphctl")

PACKAGES = """\
Package: alpha
Version: 1
Maintainer: Ann Author <Ann@example.org>
Depends: beta (>= 1.0), beta (<< 2.0), gamma:any | delta, missing
Recommends: alpha
Description: Fast editor for editors of editors
Section: editors

Package: beta
Source: alpha (1.2)
Version: 1
Maintainer: Bob <bob@example.org>
Pre-Depends: gamma [amd64]
Suggests: delta (= 3),
 alpha
Section: contrib/libs
Description: C++ library

Package: gamma
Maintainer: Ann A. <ann@example.org>
Description:
Section: non-free/libs

Package: delta
Description: alpha and beta

Package: alpha
Version: 2
Depends: delta
Section: games
"""


class DebianGraph(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory(prefix="graphd_debian_")
        self.addCleanup(scratch.cleanup)
        self.scratch = pathlib.Path(scratch.name)
        (self.scratch / "Packages").write_text(PACKAGES)

    def run_script(self, output, *more):
        script = ROOT / "scripts/debian_graph.py"
        return subprocess.run([script, "--from", self.scratch / "Packages",
                               "--output", self.scratch / output, *more],
                              capture_output=True, text=True, timeout=60)

    def lines(self, name):
        return gzip.decompress((self.scratch / "out" / name).read_bytes()).decode().splitlines()

    def test_writes_ogbs_layout(self):
        result = self.run_script("out")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(self.lines("raw/num-node-list.csv.gz"), ["4"])
        # alpha=0 beta=1 gamma=2 delta=3; each pair appears once, without loops; the first stanza
        # wins.
        self.assertEqual(self.lines("raw/edge.csv.gz"), ["0,1", "0,2", "0,3", "1,2", "1,3", "1,0"])
        self.assertEqual(self.lines("raw/num-edge-list.csv.gz"), ["6"])
        self.assertEqual(self.lines("mapping/labelidx2section.csv.gz"),
                         ["0,editors", "1,libs", "2,unknown"])
        self.assertEqual(self.lines("raw/node-label.csv.gz"), ["0", "1", "1", "2"])
        rows = [[float(x) for x in line.split(",")] for line in self.lines("raw/node-feat.csv.gz")]
        self.assertEqual([len(row) for row in rows], [128] * 4)
        norms = [math.sqrt(sum(x * x for x in row)) for row in rows]
        for norm, expected in zip(norms, (1, 1, 0, 1)):
            self.assertAlmostEqual(norm, expected, places=4)
        ids = [i for part in ("train", "valid", "test")
               for i in self.lines("split/hash/%s.csv.gz" % part)]
        self.assertEqual(sorted(ids), ["0", "1", "2", "3"])

    def test_writes_ogbs_heterogeneous_layout(self):
        result = self.run_script("out", "--hetero")
        self.assertEqual(result.returncode, 0, result.stderr)
        # Maintainers are ann, bob and nobody; sources are alpha (also beta's), gamma and delta.
        self.assertEqual(self.lines("raw/num-node-dict.csv.gz"),
                         ["package,maintainer,source", "4,3,3"])
        expected = {
            "package,depends,package": ["0,1", "0,2", "0,3", "1,2"],  # includes Pre-Depends
            "package,recommends,package": [],  # alpha recommends itself
            "package,suggests,package": ["1,3", "1,0"],
            "package,maintained_by,maintainer": ["0,0", "1,1", "2,0", "3,2"],
            "package,built_from,source": ["0,0", "1,0", "2,1", "3,2"],
        }
        triplets = self.lines("raw/triplet-list.csv.gz")
        self.assertEqual(triplets[:5], list(expected))
        for triplet, edges in expected.items():
            src, relation, dst = triplet.split(",")
            reverse = f"{dst},rev_{relation},{src}"
            self.assertIn(reverse, triplets)
            turned = [",".join(reversed(edge.split(","))) for edge in edges]
            for name, lines in ((triplet, edges), (reverse, turned)):
                folder = "raw/relations/" + name.replace(",", "___")
                self.assertEqual(self.lines(folder + "/edge.csv.gz"), lines)
                self.assertEqual(self.lines(folder + "/num-edge-list.csv.gz"), [str(len(lines))])
        self.assertEqual(self.lines("raw/nodetype-has-feat.csv.gz"),
                         ["package,maintainer,source", "True,False,False"])
        self.assertEqual(self.lines("mapping/nodeidx2source.csv.gz"),
                         ["0,alpha", "1,gamma", "2,delta"])
        # Packages have the features, labels and split that they have in the homogeneous graph.
        self.assertEqual(self.run_script("homogeneous").returncode, 0)
        for name, homogeneous in (("raw/node-feat/package/node-feat", "raw/node-feat"),
                                  ("raw/node-label/package/node-label", "raw/node-label"),
                                  ("split/hash/package/train", "split/hash/train"),
                                  ("split/hash/package/test", "split/hash/test")):
            expected = self.scratch / "homogeneous" / (homogeneous + ".csv.gz")
            self.assertEqual((self.scratch / "out" / (name + ".csv.gz")).read_bytes(),
                             expected.read_bytes())

    def test_the_same_packages_give_the_same_bytes(self):
        for number, more in ((10, []), (34, ["--hetero"])):
            outputs = [self.scratch / ("%d_%d" % (number, i)) for i in range(2)]
            for output in outputs:
                self.assertEqual(self.run_script(output.name, *more).returncode, 0)
            files = sorted(p.relative_to(outputs[0]) for p in outputs[0].rglob("*.gz"))
            self.assertEqual(len(files), number)
            for name in files:
                self.assertEqual(*((output / name).read_bytes() for output in outputs), name)

    def test_no_packages_is_an_error(self):
        (self.scratch / "Packages").write_text("")
        result = self.run_script("out")
        self.assertEqual(result.returncode, 1)
        self.assertIn("names no packages", result.stderr)

    def test_apt_without_its_lists_is_an_error(self):
        for folder in ("lists/partial", "cache/archives/partial"):
            (self.scratch / folder).mkdir(parents=True)
        config = self.scratch / "apt.conf"
        config.write_text('Dir::State::lists "%s/lists";\nDir::Cache "%s/cache";\n'
                          % (self.scratch, self.scratch))
        script = ROOT / "scripts/debian_graph.py"
        result = subprocess.run([script, "--output", self.scratch / "out"],
                                env=dict(os.environ, APT_CONFIG=str(config)),
                                capture_output=True, text=True, timeout=60)
        self.assertEqual(result.returncode, 1, result.stderr)
        self.assertIn("apt-get update", result.stderr)
        self.assertFalse((self.scratch / "out").exists())

    def test_graphctl_partitions_it(self):
        self.assertEqual(self.run_script("out").returncode, 0)
        result = subprocess.run(
            [GRAPHCTL, "partition", "--input", self.scratch / "out", "--graph_name", "tiny",
             "--num_parts", "2", "--add_reverse", "--output", self.scratch / "parts", "--json"],
            capture_output=True, text=True, timeout=60)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(json.loads(result.stdout)["num_edges"], 12)

    def test_graphctl_partitions_the_heterogeneous_one(self):
        self.assertEqual(self.run_script("out", "--hetero").returncode, 0)
        result = subprocess.run(
            [GRAPHCTL, "partition", "--input", self.scratch / "out", "--graph_name", "tiny",
             "--num_parts", "3", "--output", self.scratch / "parts", "--json"],
            capture_output=True, text=True, timeout=60)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(json.loads(result.stdout)["num_edges"], 28)
        config = json.loads((self.scratch / "parts" / "tiny.json").read_text())
        self.assertEqual(list(config["ntypes"]), ["package", "maintainer", "source"])
        self.assertEqual(len(config["etypes"]), 10)


if __name__ == "__main__":
    unittest.main(verbosity=2)
