#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Makes with each verb of graphctl the mistakes that new users make, where no server runs. Each must
end with its exit code and a single message that says what to do."""

import os
import re
import shutil
import subprocess
import tempfile
import unittest

from harness import DEADLINE, GRAPHCTL, SLOW

NO_SERVER = r"no server 'mine' runs .*(give its --server_name|`graphctl server start`)"
IP_CONFIG = r"--ip_config is required \(File with a line 'address \[port \[trainers\]\]' per "
NO_GRAPH = r"none.* does not exist; give the part config of a graph"
HERE = "--server_name mine --runtime_dir run"
WORKSPACE = "--workspace . --ip_config ip.txt --server_name mine --runtime_dir run"

# The words after graphctl, the exit code, and what the message must have.
MISTAKES = [
    ("", 2, r"give one of: launch, .*; see graphctl --help"),
    ("lauch", 2, r"unknown verb 'lauch', did you mean 'launch'"),
    ("launch", 2, r"--ip_config FILE.* or --launcher local"),
    ("launch --ip_config none.txt true", 3, r"none\.txt does not exist .*; it must have a line"),
    ("launch --ip_config ip.txt --num_trainers many true", 2, r"--num_trainers.*many.*--help"),
    ("launch --launcher local --num_trainer 2 true", 2, r"'--num_trainer', did you mean '--num_trai"),
    (f"launch {WORKSPACE}", 2, r"command is missing; write it last, as in: graphctl launch"),
    ("attach", 2, r"JOB is required \(The job's id, as `graphctl launch` told it\)"),
    (f"attach {WORKSPACE} job-1", 3, r"has no job job-1 on this host.*if `graphctl ps` shows it"),
    ("checkpoint create", 2, IP_CONFIG),
    ("checkpoint list", 2, IP_CONFIG),
    ("checkpoint show", 2, IP_CONFIG),
    ("checkpoint restore", 2, IP_CONFIG),
    ("checkpoint delete", 2, IP_CONFIG),
    ("checkpoint export", 2, IP_CONFIG),
    (f"checkpoint list --ip_config ip.txt {HERE} --timeout 1", 5,
     r"no graphd answers at run/mine/30050\.sock.*`graphctl server start`"),
    ("checkpoint", 2, r"give one of: create.*; see graphctl checkpoint --help"),
    ("config check none.conf", 3, r"no none\.conf; give the file of a server, such as /etc/"),
    ("config check graphd.conf", 2, r"graphd\.conf:2: .*part_confg.*part_config"),
    ("config", 2, r"give one of: check.*; see graphctl config --help"),
    ("convert", 2, r"--part_config is required"),
    ("convert --part_config none.json --output out", 3, NO_GRAPH),
    ("copy", 2, r"--part_config is required"),
    ("debug", 2, r"give one of: requests.*; see graphctl debug --help"),
    (f"debug requests {HERE}", 5, NO_SERVER),
    (f"debug memory {HERE}", 5, NO_SERVER),
    ("doctor --part_config none.json", 1, r"remedy: give the right --part_config"),
    ("inspect", 2, r"path is required \(Part config .*or the directory that contains it"),
    ("inspect none", 3, NO_GRAPH),
    ("keys create --keys ip.txt", 3, r"ip\.txt/.*Not a directory"),
    ("keys list --keys none", 3, r"none.*graphctl keys create"),
    ("keys rotate --keys none", 3, r"none.*graphctl keys create"),
    ("keys revoke --keys none", 2, r"name is required \(Name or serial number"),
    ("keys distribute", 2, r"--ip_config is missing; it names the machines"),
    ("keys", 2, r"give one of: create.*; see graphctl keys --help"),
    ("logs", 2, r"JOB is required"),
    ("partition", 2, r"--graph_name is required"),
    ("partition --graph_name g --num_parts 2 --output out --input none", 3, r"--input none does not ex"),
    ("partition --graph_name g --num_parts 0 --output out --input raw", 2, r"0 is outside 1\.\.16384"),
    ("plan", 2, r"path is required"),
    (f"ps {HERE}", 5, NO_SERVER),
    ("restart", 2, r"JOB is required"),
    ("stop --server_name mine --runtime_dir run", 5, NO_SERVER),
    (f"server start {HERE}", 5, r"--part_config is required to start one"),
    (f"server stop {HERE}", 5, NO_SERVER),
    (f"server status {HERE}", 5, NO_SERVER),
    (f"server drain {HERE}", 5, NO_SERVER),
    (f"server undrain {HERE}", 5, NO_SERVER),
    (f"server end_job {HERE}", 2, r"job is required \(The job's id, as graphctl ps shows it\)"),
    (f"server end_job job-1 {HERE}", 5, NO_SERVER),
    (f"server log_level {HERE}", 2, r"level is required \(debug, info, warning or error\)"),
    (f"server log_level loud {HERE}", 2, r"loud not in {debug,info,warning,error}"),
    ("server logs --since yesterdey", 2, r"yesterdey: give a time such as 13:05"),
    (f"server reload {HERE}", 5, NO_SERVER),
    (f"server switch {HERE}", 5, NO_SERVER),
    ("server", 2, r"give one of: start.*; see graphctl server --help"),
    (f"status {HERE}", 5, NO_SERVER),
    ("tensors list", 2, IP_CONFIG),
    ("tensors drop", 2, IP_CONFIG),
    ("tensors export", 2, IP_CONFIG),
    ("tensors", 2, r"give one of: list.*; see graphctl tensors --help"),
    ("top --json --interval never", 2, r"never not in range 0\.1.* to 86400.*top --help"),
    ("verify", 2, r"path is required"),
    ("verify none", 3, NO_GRAPH),
    ("wait", 2, r"JOB is required"),
]


class MessagesTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.mkdtemp(prefix="graphd-messages-")
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        os.mkdir(os.path.join(cls.folder, "run"))
        for name, text in (("ip.txt", "127.0.0.1\n"),
                           ("graphd.conf", "# a server\npart_confg = graph.json\n")):
            with open(os.path.join(cls.folder, name), "w") as out:
                out.write(text)

    def graphctl(self, *words):
        environment = {**os.environ, "GRAPHD_JOBS_DIR": self.folder + "/jobs"}
        return subprocess.run([GRAPHCTL, *words], cwd=self.folder, stdin=subprocess.DEVNULL,
                              env=environment, capture_output=True, text=True,
                              timeout=DEADLINE * SLOW)

    def verbs(self, *above):
        """Returns all verbs that have no verbs below them, from the texts of --help."""
        text = self.graphctl(*above, "--help").stdout
        names = re.findall(r"^  (\w+) ", text.partition("Subcommands:\n")[2].partition("\n\n")[0],
                           re.MULTILINE)
        if not names:
            return [" ".join(above)]
        return [verb for name in names for verb in self.verbs(*above, name)]

    def test_each_mistake_is_answered_with_what_to_do(self):
        for words, code, message in MISTAKES:
            with self.subTest(words):
                done = self.graphctl(*words.split())
                self.assertEqual(done.returncode, code, done.stderr + done.stdout)
                self.assertRegex(done.stderr + done.stdout, message)
                said = [line for line in done.stderr.splitlines() if line.startswith("graphctl:")]
                self.assertLessEqual(len(said), 1, done.stderr)

    def test_each_verb_refuses_an_option_that_it_does_not_have(self):
        verbs = self.verbs()
        self.assertGreater(len(verbs), 40)
        for verb in verbs:
            with self.subTest(verb):
                done = self.graphctl(*verb.split(), "--no_such_option")
                self.assertEqual(done.returncode, 2, done.stderr + done.stdout)
                self.assertRegex(
                    done.stderr,
                    rf"^graphctl: unknown option '--no_such_option'.*; see graphctl {verb} --help\n$")

    def test_the_mistakes_are_those_of_all_verbs(self):
        made = [words for words, _, _ in MISTAKES]
        self.assertEqual([verb for verb in self.verbs()
                          if not any(f"{words} ".startswith(f"{verb} ") for words in made)], [])


if __name__ == "__main__":
    unittest.main()
