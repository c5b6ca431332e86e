#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Checks packaging/completions: they offer every verb and option of --help, and files and values
after the options that take them."""

import os
import re
import shlex
import subprocess
import sys
import tempfile
import unittest

ROOT = os.path.realpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
COMPLETIONS = os.path.join(ROOT, "packaging", "completions")
BIN_DIR = os.environ["GRAPHD_BIN_DIR"]


def completed(*words, cwd=None):
    """Returns what bash offers for the last word, split as bash does at "="."""
    split = [part for word in words for part in re.split(r"(?<=.)(=)", word) if part or word == ""]
    script = (
        f"source {shlex.quote(os.path.join(COMPLETIONS, words[0] + '.bash'))}; "
        f"COMP_WORDS=({shlex.join(split)}) COMP_CWORD={len(split) - 1}; "
        f'_{words[0]}; printf "%s\\n" "${{COMPREPLY[@]}}"'
    )
    done = subprocess.run(
        ["bash", "-c", script], cwd=cwd, check=True, capture_output=True, text=True
    )
    return sorted(filter(None, done.stdout.split("\n")))


def help_of(*words):
    """Returns the options, each a list of its names, and the verbs that --help names."""
    command = [os.path.join(BIN_DIR, words[0]), *words[1:], "--help"]
    text = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    options = re.findall(r"^  (-[\w,-]+)", text, re.MULTILINE)
    below = re.search(r"^Subcommands:\n((?:  .*\n)+)", text, re.MULTILINE)
    return [names.split(",") for names in options], (
        re.findall(r"^  (\w+)", below.group(1), re.MULTILINE) if below else []
    )


class Completions(unittest.TestCase):
    def check(self, *words):
        """Checks a verb and those below it; returns how many options there are."""
        options, verbs = help_of(*words)
        offered = completed(*words, "-")
        for names in options:
            self.assertTrue(set(names) & set(offered), f"{words}: {names}")
            for name in names:
                self.assertIn(name, completed(*words, name), words)
        self.assertLessEqual(set(offered), {name for names in options for name in names}, words)
        if verbs:
            self.assertEqual(completed(*words, ""), sorted(verbs), words)
        return len(options) + sum(self.check(*words, verb) for verb in verbs)

    def test_options_that_exclude_others_have_their_description(self):
        with open(os.path.join(COMPLETIONS, "_graphctl"), encoding="utf-8") as file:
            text = file.read()
        self.assertIn("[Make a shared secret, secret.key, and no certificates]", text)
        self.assertNotIn("[Excludes", text)

    def test_every_verb_and_option_of_help_is_offered(self):
        self.assertGreater(self.check("graphd"), 15)
        self.assertGreater(self.check("graphctl"), 150)

    def test_values(self):
        both = {"native", "dgl"}
        self.assertEqual(set(completed("graphctl", "partition", "--format", "")), both)
        self.assertEqual(completed("graphctl", "partition", "--format=d"), ["dgl"])
        self.assertEqual(completed("graphd", "--durability", "p"), ["power", "process"])
        self.assertEqual(completed("graphctl", "launch", "--num_trainers", ""), [])
        self.assertEqual(completed("graphctl", "checkpoint", "c"), ["create"])
        self.assertEqual(completed("graphctl", "server", "start", "--server"), ["--server_name"])
        self.assertEqual(completed("graphctl", "server", "start", "--server-"), ["--server-name"])

    def test_files(self):
        with tempfile.TemporaryDirectory() as folder:
            os.mkdir(os.path.join(folder, "data 1"))
            with open(os.path.join(folder, "data.json"), "w", encoding="utf-8"):
                pass
            both = ["data 1", "data.json"]
            self.assertEqual(completed("graphd", "--config", "", cwd=folder), both)
            self.assertEqual(completed("graphd", "--config=da", cwd=folder), both)
            self.assertEqual(completed("graphctl", "inspect", "d", cwd=folder), both)
            self.assertEqual(completed("graphctl", "copy", "--workspace", "", cwd=folder), both[:1])
            launch = ("graphctl", "launch", "--server_name", "server", "--keep_alive")
            self.assertEqual(completed(*launch, "--ip_config=", cwd=folder), both)
            self.assertEqual(completed(*launch, "--", "./program", "d", cwd=folder), both)
            self.assertEqual(completed(*launch, "program", "--format", "d", cwd=folder), both)

    def test_the_files_equal_the_output_of_the_script(self):
        script = os.path.join(ROOT, "scripts", "make_completions.py")
        done = subprocess.run(
            [sys.executable, script, "--check", BIN_DIR], capture_output=True, text=True
        )
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_zsh_can_parse_its_files(self):
        for name in ("_graphd", "_graphctl"):
            subprocess.run(["zsh", "-n", os.path.join(COMPLETIONS, name)], check=True)


if __name__ == "__main__":
    unittest.main()
