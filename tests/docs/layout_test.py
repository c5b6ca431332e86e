#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""scripts/check_layout.py finds large folders and files, names that occur twice, methods that are
defined elsewhere, and cycles of includes."""

import os
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "scripts"))

import check_layout

HEADER = """#pragma once
namespace graphd {
class Other;
struct Options {
  int size = 0;
};
class Table final : public Base<int> {
 public:
  explicit Table(Options options);
  class Reader;
};
template <class T>
class Span {
};
}  // namespace graphd
"""
SOURCE = """#include "store/table.h"
namespace graphd {
class Local { void Run(); };
void Local::Run() {}
// Table::Commented(int x) {
const Options kOptions = Options::Default();
Table::Table(Options options) : options_(options) {
  Options::Check(options);
}
std::vector<int> store::Table::Rows(
    int count) const {
}
Table::Reader::Reader(int x) {}
Table& Table::operator=(Table&&) = default;
}
"""


class Layout(unittest.TestCase):
    def test_sizes(self):
        files = {f"ctl/file{i}.cc": "\n" * 10 for i in range(41)}
        files |= {"bench/long.cc": "\n" * 801, "docs/long.py": "\n" * 900}
        found = list(check_layout.check_sizes(check_layout.line_counts(files)))
        self.assertEqual([message.split(":")[0] for message in found], ["ctl", "bench/long.cc"])

    def test_names(self):
        files = dict.fromkeys(
            ["ctl/plan/a.cc", "ctl/a.cc", "ctl/a.h", "daemon/a.cc", "libclient/store/a.cc",
             "ctl/CMakeLists.txt", "ctl/plan/CMakeLists.txt", "libclient/base/a.cc"], ""
        )  # fmt: skip
        found = list(check_layout.check_names(files))
        self.assertEqual(found, ["ctl: files of the same name: ctl/plan/a.cc, ctl/a.cc"])

    def test_classes(self):
        self.assertEqual(check_layout.classes_of(HEADER), {"Options", "Table", "Span"})
        self.assertEqual(check_layout.defined_classes(SOURCE), {"Local", "Table"})

    def test_definitions(self):
        files = {"libclient/store/table.h": HEADER, "libclient/store/table.cc": SOURCE}
        self.assertEqual(list(check_layout.check_definitions(files)), [])
        files["libclient/store/rows.cc"] = files.pop("libclient/store/table.cc")
        (found,) = check_layout.check_definitions(files)
        self.assertIn("rows.cc: defines methods of Table, which libclient/store/table.h", found)

    def test_cycles(self):
        files = {
            "libclient/base/a.h": '#include "graphd/b.h"\n#include <vector>\n',
            "libclient/include/graphd/b.h": "",
            "libclient/store/c.h": '#include "base/a.h"\n#include "d.h"\n',
            "libclient/store/d.h": "",
            "ctl/e.cc": '#include "store/c.h"\n#include "ctl/plan/f.h"\n',
            "ctl/plan/f.h": "",
        }
        self.assertEqual(list(check_layout.check_cycles(check_layout.include_graph(files))), [])
        files["libclient/include/graphd/b.h"] = '#include "store/d.h"\n'
        (cycle,) = check_layout.check_cycles(check_layout.include_graph(files))
        self.assertIn(
            "libclient/base -> libclient/include/graphd -> libclient/store -> libclient/base", cycle
        )


if __name__ == "__main__":
    unittest.main()
