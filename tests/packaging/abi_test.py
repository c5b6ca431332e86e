#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""scripts/check_abi.py finds the changes that break programs, and tells them from additions.

usage: abi_test.py LIBRARY
"""

import argparse
import contextlib
import io
import os
import shutil
import sys
import tempfile
import unittest
import unittest.mock

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "scripts"))

import check_abi

SYMBOL = "_ZNK6graphd9DistGraph9num_nodesEv"
PRIVATE = {  # members of classes that public headers only name
    "_ZN6graphd13Interruptions8HappenedEv":
        (("GRAPHCLIENT_0", "FUNC", "GLOBAL", "39"), "graphd::Interruptions::Happened()"),
    "_ZN6graphd6detail14BatchQueueCore5State4StopEv":
        (("GRAPHCLIENT_0", "FUNC", "GLOBAL", "162"), "graphd::detail::BatchQueueCore::State::Stop()"),
    "_ZTIN6graphd12TensorSourceE":
        (("GRAPHCLIENT_0", "OBJECT", "WEAK", "16"), "typeinfo for graphd::TensorSource"),
    "_ZN6graphd13Interruptions4lastE":
        (("GRAPHCLIENT_0", "OBJECT", "GLOBAL", "8"), "graphd::Interruptions::last"),
}  # fmt: skip
FUNCTION = "'method int64_t graphd::DistGraph::num_nodes() const'"
EDITS = [  # header, text, new text, and what is found
    ("initialize.h", "  int rank = 0;", "  int more = 0;\n  int rank = 0;",
     "'int rank' offset changed from"),
    ("initialize.h", "  virtual void Barrier()", "  virtual void More() = 0;\n  virtual void Barrier()",
     "the vtable offset of method virtual void graphd::Session::Barrier() changed from 2 to 3"),
    ("initialize.h", "  kUnix,", "  kMore,\n  kUnix,",
     "'graphd::Transport::kUnix' from value '1' to '2'"),
    ("error.h", "int ExitCode(", "long ExitCode(", "type name changed from 'int' to 'long int'"),
]  # fmt: skip


class Abi(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = cls.enterClassContext(tempfile.TemporaryDirectory())
        cls.kept = cls.dump("kept", check_abi.Library(library))
        cls.undeclared_in_library = cls.undeclared

    @classmethod
    def dump(cls, name, of_library):
        path = os.path.join(cls.folder, name)
        cls.undeclared = check_abi.write_dump(of_library, path, cls.folder)
        return path

    def check(self, before, after, expected, *texts):
        result, said = check_abi.compare(before, after)
        self.assertEqual(result, expected, said)
        for text in texts:
            self.assertIn(text, said)

    def test_same_library(self):
        self.check(self.kept, self.kept, "same")

    def test_added_symbol(self):
        with open(self.kept, encoding="utf-8") as file:
            lines = [line for line in file if f'<elf-symbol name="{SYMBOL}"' not in line]
        before = os.path.join(self.folder, "before")
        with open(before, "w", encoding="utf-8") as file:
            file.writelines(lines)
        self.check(before, self.kept, "extended", f"[A] {FUNCTION}")

    def test_symbols_without_a_declaration(self):
        self.assertEqual(self.undeclared_in_library, [])
        larger = check_abi.Library(library)
        larger.symbols.update((name, symbol) for name, (symbol, _) in PRIVATE.items())
        before = self.dump("larger", larger)
        self.assertCountEqual(self.undeclared, [text for _, text in PRIVATE.values()])
        self.check(before, self.kept, "changed", *(f"[D] {name}@@" for name in PRIVATE))

        said = io.StringIO()
        with (
            unittest.mock.patch.object(check_abi, "write_dump", return_value=self.undeclared),
            contextlib.redirect_stdout(said),
        ):
            arguments = argparse.Namespace(shared_object=library, update=False, strict=False)
            self.assertEqual(check_abi.check(arguments), 1)
        for _, text in PRIVATE.values():
            self.assertIn(f"\n  {text}\n", said.getvalue())

    def test_changed_headers_and_removed_symbol(self):
        include = os.path.join(self.folder, "include")
        shutil.copytree(check_abi.INCLUDE, include)
        for header, text, new_text, _ in EDITS:
            path = os.path.join(include, "graphd", header)
            with open(path, encoding="utf-8") as file:
                content = file.read()
            self.assertIn(text, content)
            with open(path, "w", encoding="utf-8") as file:
                file.write(content.replace(text, new_text, 1))
        smaller = check_abi.Library(library)
        del smaller.symbols[SYMBOL]
        with unittest.mock.patch.object(check_abi, "INCLUDE", include):
            edited = self.dump("edited", smaller)
        findings = [finding for *_, finding in EDITS]
        self.check(self.kept, edited, "changed", f"[D] {FUNCTION}", *findings)

    def test_definitions(self):
        by_signature = {
            "graphd::Graph::nodes[abi:cxx11](std::map<int, long> const&, int) const":
                "decltype(std::declval<graphd::Graph const&>().nodes("
                "std::declval<std::map<int, long> const&>(), std::declval<int>())) "
                "graphd::Graph::nodes(std::map<int, long> const&, int) const "
                "{ __builtin_trap(); }\n",
            "graphd::Load(std::function<void (int, int)>)":
                "decltype(graphd::Load(std::declval<std::function<void (int, int)>>())) "
                "graphd::Load(std::function<void (int, int)>) { __builtin_trap(); }\n",
            "graphd::Graph::Graph(int)": None,
            "graphd::Graph::~Graph()": None,
            "graphd::Graph::operator bool() const": None,
        }  # fmt: skip
        for text, definition in by_signature.items():
            signature = check_abi.Signature(text)
            self.assertEqual(signature.is_definable(), definition is not None, text)
            if definition:
                is_member = signature.scope == "graphd::Graph"
                self.assertEqual(signature.definition(is_member), definition)


if __name__ == "__main__":
    library = sys.argv.pop(1)
    unittest.main()
