#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""scripts/check_layout.py finds large folders and files, names that occur twice, methods that are
defined elsewhere, cycles of includes, and includes and arrows that no folder declares."""

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

# base <- graph <- store;  ctl has one folder and a program.
DECLARATIONS = {
    "libclient/CMakeLists.txt": "function(graphd_library name)\nadd_subdirectory(base)\n",
    "libclient/base/CMakeLists.txt": "graphd_library(graphd_base SOURCES a.cc\n"
    "  PUBLIC Threads::Threads)\n",
    "libclient/graph/CMakeLists.txt": "# graphd_library(graphd_old)\n"
    "graphd_library(graphd_graph SOURCES b.cc PUBLIC graphd_base)\n",
    "libclient/store/CMakeLists.txt": "graphd_library(graphd_store\n  SOURCES c.cc\n"
    "  PUBLIC graphd_graph)\n",
    "ctl/plan/CMakeLists.txt": "graphctl_library(graphctl_plan SOURCES p.cc PRIVATE graphd_store)\n",
    "ctl/CMakeLists.txt": "add_executable(graphctl main.cc)\n"
    "target_link_libraries(graphctl PRIVATE graphctl_plan)\n",
}
ARCHITECTURE = """Dependencies:

    libclient:  base <- graph <-
                store
    ctl:        store <- plan <- ctl

    not: a list
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

    def test_declared_includes(self):
        headers = dict.fromkeys(
            ["libclient/base/a.h", "libclient/graph/b.h", "libclient/store/c.h", "ctl/plan/p.h",
             "libclient/include/graphd/d.h"], ""
        )  # fmt: skip

        def found(path, header):
            files = DECLARATIONS | headers | {path: f'#include "{header}"\n'}
            declared = check_layout.declared_dependencies(files)
            return list(check_layout.check_declared(declared, check_layout.include_graph(files)))

        # A folder may include what it declares, what that declares as PUBLIC, and the public headers.
        self.assertEqual(found("libclient/store/c.cc", "graph/b.h"), [])
        self.assertEqual(found("libclient/store/c.cc", "base/a.h"), [])
        self.assertEqual(found("libclient/base/a.cc", "graphd/d.h"), [])
        self.assertEqual(found("ctl/plan/p.cc", "base/a.h"), [])
        self.assertEqual(
            found("libclient/graph/b.cc", "store/c.h"),
            ['libclient/graph/CMakeLists.txt does not declare libclient/store: '
             'libclient/graph/b.cc: "store/c.h"'],
        )  # fmt: skip
        # The header of a schema is that of the schema's folder.
        schemas = {"libclient/store/s.capnp": "", "libclient/graph/b.cc": '#include "store/s.capnp.h"\n'}
        graph = check_layout.include_graph(DECLARATIONS | schemas)
        self.assertEqual(list(graph["libclient/graph"]), ["libclient/store"])
        # A folder without a target is reported.
        self.assertEqual(len(found("libclient/other/o.cc", "base/a.h")), 1)
        # A PRIVATE dependency of another folder is not enough.
        self.assertEqual(len(found("ctl/main.cc", "store/c.h")), 1)
        self.assertEqual(found("ctl/main.cc", "ctl/plan/p.h"), [])

    def test_listed_dependencies(self):
        declared = check_layout.declared_dependencies(DECLARATIONS)

        def found(text):
            return list(check_layout.check_listed(declared, text))

        self.assertEqual(found(ARCHITECTURE), [])
        self.assertEqual(
            found(ARCHITECTURE.replace("base <- graph", "graph")),
            ["ARCHITECTURE.md does not list that libclient/graph depends on libclient/base"],
        )
        self.assertEqual(
            found(ARCHITECTURE.replace("base <- graph", "plans <- base <- graph")),
            ["ARCHITECTURE.md: the list of dependencies has 'plans', which no CMakeLists.txt defines"],
        )
        (wrong,) = found(ARCHITECTURE.replace("plan <- ctl", "plan <- ctl;  ctl <- store"))
        self.assertIn("lists that libclient/store depends on ctl", wrong)
        self.assertEqual(len(found("")), 4)


if __name__ == "__main__":
    unittest.main()
