# SPDX-License-Identifier: Apache-2.0
"""Tests graphctl keys on this machine, and jobs that use the keys that it made."""

import json
import os
import stat
import unittest

from harness import BIN, SLOW, GraphctlTest, read_line

TRAINER = os.path.join(BIN, "..", "tests", "ring_trainer")


class KeysCase(GraphctlTest):
    def keys(self, verb, *arguments, fails=None):
        """Runs a verb on the directory "keys"; returns what it printed as JSON, or its error."""
        done = self.graphctl("keys", verb, "--server_name", "ring", "--keys", self.path("keys"),
                             "--json", *arguments)
        self.assertEqual(done.returncode, fails or 0, done.stderr)
        return done.stderr if fails else json.loads(done.stdout)["keys"]

    def names(self, entries):
        return sorted((each["name"], each["kind"]) for each in entries if "kind" in each)


class Keys(KeysCase):
    def test_create_makes_private_files_and_names_them(self):
        made = self.keys("create", "--client", "alice", "--client", "bob")
        self.assertEqual(self.names(made), [
            ("alice", "client"), ("bob", "client"), ("owner", "client"), ("ring", "server"),
            ("ring authority", "authority")])
        for folder, _, files in os.walk(self.path("keys")):
            for name in files:
                mode = os.stat(os.path.join(folder, name)).st_mode
                self.assertEqual(stat.S_IMODE(mode), 0o600, name)
        self.assertEqual(stat.S_IMODE(os.stat(self.path("keys")).st_mode), 0o700)
        self.assertEqual(self.names(self.keys("list")), self.names(made))
        self.assertEqual(self.names(self.keys("create", "--client", "carol")),
                         [("carol", "client")])

    def test_create_replaces_nothing(self):
        self.keys("create", "--client", "alice")
        self.assertIn("keys rotate", self.keys("create", fails=4))
        self.assertIn("keys rotate", self.keys("create", "--client", "alice", fails=4))
        for name in ("owner", "ring", "../x", "a b", ""):
            self.assertIn("--client", self.keys("create", "--client", name, fails=2))

    def test_create_makes_a_shared_secret_that_it_never_shows(self):
        self.assertIn("exclude", self.keys("create", "--shared_secret", "--client", "alice", fails=2))
        self.assertEqual(self.keys("create", "--shared_secret"), [])
        path = self.path("keys/secret.key")
        self.assertEqual(stat.S_IMODE(os.stat(path).st_mode), 0o600)
        self.assertEqual(os.listdir(self.path("keys")), ["secret.key"])
        self.assertIn("exists already", self.keys("create", "--shared_secret", fails=4))
        shown = self.graphctl("keys", "list", "--server_name", "ring", "--keys", self.path("keys"))
        self.assertEqual((shown.returncode, shown.stdout), (0, f"shared secret: {path}\n"))

    def test_rotate_makes_new_keys_and_revokes_the_old_ones(self):
        before = {each["name"]: each["serial"] for each in self.keys("create", "--client", "alice")}
        after = {each["name"]: each["serial"] for each in self.keys("rotate")}
        self.assertEqual(set(after), {"ring", "owner", "alice"})
        with open(self.path("keys/revoked")) as file:
            revoked = file.read()
        for name, serial in after.items():
            self.assertNotEqual(serial, before[name])
            self.assertIn(before[name], revoked)
            self.assertNotIn(serial, revoked)
        self.assertEqual(self.names(self.keys("rotate", "--client", "alice")),
                         [("alice", "client")])
        self.assertIn("no key of 'bob'", self.keys("rotate", "--client", "bob", fails=3))

    def test_revoke_takes_a_name_or_a_serial_number(self):
        serials = {each["name"]: each["serial"] for each in self.keys("create", "--client", "alice")}
        self.assertEqual(self.keys("revoke", "alice")[0]["state"], "revoked")
        self.assertEqual(self.keys("revoke", serials["owner"])[0]["name"], "owner")
        self.assertEqual({each["name"] for each in self.keys("list") if each["revoked"]},
                         {"alice", "owner"})
        self.assertIn("'mallory'", self.keys("revoke", "mallory", fails=3))
        self.assertIn("authority", self.keys("revoke", "ring authority", fails=2))

    def test_without_keys_or_where_they_were_not_made_errors_say_what_to_do(self):
        self.assertIn("keys create", self.keys("list", fails=3))
        self.assertIn("keys create", self.keys("rotate", fails=3))
        self.assertIn("--ip_config", self.keys("distribute", fails=2))
        self.keys("create")
        os.remove(self.path("keys/ca.key"))
        self.assertIn("on the machine", self.keys("rotate", fails=3))
        self.keys("revoke", "owner")

    def test_a_private_key_that_others_can_read_is_refused(self):
        self.keys("create")
        os.chmod(self.path("keys/ca.key"), 0o644)
        self.assertIn("chmod 0600", self.keys("rotate", fails=10))
        os.chmod(self.path("keys/server.key"), 0o640)
        done = self.launch("--keys", "keys", "true")
        self.assertEqual(done.returncode, 10, done.stderr)
        self.assertIn("chmod 0600", done.stderr)


class Jobs(KeysCase):
    def setUp(self):
        super().setUp()
        self.environment["GRAPHD_TRANSPORT"] = "tcp"

    def test_trainers_of_a_launch_use_the_owners_key(self):
        self.keys("create")
        done = self.launch("--keys", "keys", "--", TRAINER)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(done.stdout.count("checked 60 nodes"), 4)

    def test_trainers_of_a_launch_use_the_shared_secret(self):
        self.keys("create", "--shared_secret")
        done = self.launch("--secret", "keys/secret.key", "--", TRAINER)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(done.stdout.count("checked 60 nodes"), 4)
        with open(self.path("keys/secret.key")) as file:
            secret = file.read().strip()
        dry = self.launch("--secret", "keys/secret.key", "--dry_run", "--", TRAINER)
        self.assertEqual(dry.returncode, 0, dry.stderr)
        self.assertNotIn(secret, done.stdout + done.stderr + dry.stdout + dry.stderr)
        job = self.start_launch("--secret", "keys/secret.key", "echo up; exec sleep 3600")
        read_line(job.stdout)
        self.assertEqual([each for each in self.left() if secret in each[1]], [])
        self.assertEqual(self.graphctl(
            "checkpoint", "list", "--server_name", "ring", "--ip_config", self.path("ip.txt"),
            "--secret", self.path("keys/secret.key")).returncode, 0)
        job.terminate()
        job.communicate()

    def test_a_trainer_without_the_shared_secret_is_told_to_give_it(self):
        self.keys("create", "--shared_secret")
        done = self.launch("--secret", "keys/secret.key", "--extra_envs", "GRAPHD_SECRET=", "--",
                           TRAINER)
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("GRAPHD_SECRET", done.stdout + done.stderr)
        both = self.launch("--secret", "keys/secret.key", "--keys", "keys", "--", TRAINER)
        self.assertEqual(both.returncode, 2, both.stderr)
        self.assertIn("excludes", both.stderr)

    def test_a_trainer_without_keys_is_told_to_give_them(self):
        self.keys("create")
        done = self.launch("--keys", "keys", "--extra_envs", "GRAPHD_KEYS=", "--", TRAINER)
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("GRAPHD_KEYS", done.stdout + done.stderr)

    def test_a_client_needs_a_rule_for_its_certificate(self):
        self.keys("create", "--client", "alice")
        done = self.launch("--keys", "keys", "--extra_envs",
                           "GRAPHD_KEYS=" + self.path("keys/clients/alice"), "--", TRAINER)
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("--allow_read cert:alice", done.stdout + done.stderr)

    def test_a_job_survives_the_rotation_of_its_key_and_not_its_revocation(self):
        self.keys("create")
        # One trainer checks the graph again and again until it fails.
        self.write("ip.txt", f"127.0.0.1 {self.ports[0]} 1\n127.0.0.1 {self.ports[1]} 0\n")
        job = self.start_launch("--keys", "keys", f"while {TRAINER} >/dev/null; do echo up; done",
                                trainers=1)
        for _ in range(2):
            read_line(job.stdout)
        self.keys("rotate")
        for _ in range(6):
            line = read_line(job.stdout)
            self.assertIn("up", line, line or job.stderr.read())
        self.keys("revoke", "owner")
        out, err = job.communicate(timeout=60 * SLOW)
        self.assertIn("revoked", out + err)


if __name__ == "__main__":
    unittest.main(verbosity=2)
