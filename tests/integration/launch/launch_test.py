# SPDX-License-Identifier: Apache-2.0
"""Tests graphctl launch on this machine: output, environment, quoting, exit codes, servers."""

import json
import os
import shutil
import time
import unittest

from harness import SLOW, GraphctlTest, read_line, wait_until

SHOW = 'echo "$RANK $LOCAL_RANK $WORLD_SIZE $LOCAL_WORLD_SIZE $GRAPHD_PART_ID"'


class Output(GraphctlTest):
    def test_every_line_has_its_trainers_prefix_with_ranks_numbered_across_hosts(self):
        done = self.launch(SHOW)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(self.lines(done.stdout), [(0, "0 0 4 2 0"), (1, "1 1 4 2 0"),
                                                   (2, "2 0 4 2 1"), (3, "3 1 4 2 1")])
        first = f"[127.0.0.1:{self.ports[0]}:0] "
        self.assertIn(first, done.stdout)

    def test_standard_error_stays_standard_error(self):
        done = self.launch("echo out; echo err >&2", trainers=1)
        self.assertEqual(self.lines(done.stdout), [(0, "out"), (1, "out")])
        self.assertEqual(self.lines(done.stderr), [(0, "err"), (1, "err")])

    def test_a_last_line_without_newline_is_shown(self):
        done = self.launch("printf 'no end'", trainers=1)
        self.assertEqual(self.lines(done.stdout), [(0, "no end"), (1, "no end")])

    def test_much_output_arrives_completely_and_in_order(self):
        done = self.launch("seq 1 100000", trainers=1)
        for rank in (0, 1):
            seen = [text for r, text in
                    ((int(line.split(":")[2].split("]")[0]), line.split("] ", 1)[1])
                     for line in done.stdout.splitlines()) if r == rank]
            self.assertEqual(seen, [str(i) for i in range(1, 100001)])

    def test_log_dir_keeps_the_output_of_each_trainer(self):
        done = self.launch("--log_dir", "logs", "echo out $RANK; echo err >&2", trainers=1)
        self.assertEqual(done.returncode, 0, done.stderr)
        job, = os.listdir(self.path("logs"))
        for rank in (0, 1):
            with open(self.path(f"logs/{job}/trainer-{rank}.log")) as log:
                self.assertEqual(sorted(log), ["err\n", f"out {rank}\n"])
        self.assertIn(f"[127.0.0.1:{self.ports[0]}:0] out 0\n", done.stdout)
        with open(self.path("file"), "w"):
            pass
        done = self.launch("--log_dir", "file", "true", trainers=1)
        self.assertEqual(done.returncode, 3, done.stderr)
        self.assertIn(self.path("file"), done.stderr)

    def test_a_slow_reader_takes_no_memory_after_a_restart_of_the_trainers(self):
        # Both attempts write much, and nobody reads what graphctl prints.
        job = self.start_launch("--max_restarts", "1", "--", "sh", "-c",
                                'if [ "$GRAPHD_RESTART_COUNT" = 0 ]; then yes & sleep 3; exit 1; fi; '
                                "touch again; exec yes", trainers=1)
        wait_until("the second attempt", lambda: os.path.exists(self.path("again")))
        largest = 0
        for _ in range(40):
            for pid, command in self.left():
                if command.endswith(" supervise"):
                    with open(f"/proc/{pid}/statm") as file:
                        largest = max(largest, int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE"))
            time.sleep(0.1)
        job.kill()
        self.assertLess(largest, 200 << 20)

    def test_closing_the_output_ends_the_job(self):
        job = self.start_launch("while true; do echo line; done", trainers=1)
        read_line(job.stdout)
        job.stdout.close()
        self.assertEqual(job.wait(20 * SLOW), 141)
        job.stderr.close()
        job.stdout = job.stderr = None


class Environment(GraphctlTest):
    def test_trainers_have_the_variables_that_torch_and_libclient_read(self):
        done = self.launch("--num_samplers", "3", "--num_omp_threads", "5", "--extra_envs",
                           "A=b c", "B=", 'env | grep -E "^(MASTER_|OMP|GRAPHD_|A=|B=)"; pwd',
                           trainers=1)
        seen = [text for rank, text in self.lines(done.stdout) if rank == 1]
        values = dict(line.split("=", 1) for line in seen if "=" in line)
        self.assertEqual(values["MASTER_ADDR"], "127.0.0.1")
        self.assertGreater(int(values["MASTER_PORT"]), 1023)
        self.assertEqual(values["OMP_NUM_THREADS"], "5")
        self.assertEqual(values["GRAPHD_SERVER_NAME"], "ring")
        self.assertEqual(values["GRAPHD_PART_CONFIG"], self.path("ring.json"))
        self.assertEqual(values["GRAPHD_IP_CONFIG"], self.path("ip.txt"))
        self.assertEqual(values["GRAPHD_NUM_SAMPLERS"], "3")
        self.assertEqual(values["GRAPHD_PART_ID"], "1")
        self.assertEqual(values["A"], "b c")
        self.assertEqual(values["B"], "")
        self.assertIn(os.path.realpath(self.workspace), [os.path.realpath(x) for x in seen])

    def test_the_master_port_is_the_same_everywhere_and_free(self):
        bind = ('test $RANK != 0 || python3 -c "import os, socket; '
                "socket.socket().bind(('127.0.0.1', int(os.environ['MASTER_PORT'])))\"; "
                "echo $MASTER_PORT")
        done = self.launch(bind)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(len({text for _, text in self.lines(done.stdout)}), 1)

    def test_the_third_column_overrides_num_trainers_and_may_be_zero(self):
        self.write("ip.txt", f"127.0.0.1 {self.ports[0]} 0\n127.0.0.1 {self.ports[1]} 3\n")
        done = self.launch(SHOW)
        self.assertEqual(self.lines(done.stdout), [(0, "0 0 3 3 1"), (1, "1 1 3 3 1"),
                                                   (2, "2 2 3 3 1")])

    def test_lines_of_one_address_and_port_share_a_daemon(self):
        self.write("ip.txt", f"127.0.0.1 {self.ports[0]}\n127.0.0.1 {self.ports[0]}\n")
        done = self.launch(SHOW + "; ls $GRAPHD_RUNTIME_DIR/ring/*.sock | wc -l", trainers=1)
        self.assertEqual(self.lines(done.stdout), [(0, "0 0 2 1 0"), (0, "1"),
                                                   (1, "1"), (1, "1 0 2 1 1")])
        self.assertIn("[127.0.0.1:1]", done.stdout)

    def test_everything_on_this_machine_needs_no_ip_config(self):
        done = self.graphctl("launch", "--launcher", "local", "--server_name", "ring", "--part_config",
                             "ring.json", "cat $GRAPHD_IP_CONFIG; " + SHOW)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(self.lines(done.stdout), [
            (0, "0 0 2 1 0"), (0, "127.0.0.1"), (0, "127.0.0.1"),
            (1, "1 0 2 1 1"), (1, "127.0.0.1"), (1, "127.0.0.1")])
        # A file of the name that ip_config usually has is another's.
        self.write("ip_config.txt", "192.0.2.7\n")
        plan = self.graphctl("launch", "--launcher", "local", "--part_config", "ring.json",
                             "--dry_run", "--json", "true")
        self.assertIn('"GRAPHD_IP_CONFIG": "file in memory"', plan.stdout)
        done = self.graphctl("launch", "--launcher", "local", "--server_name", "ring", "--part_config",
                             "ring.json", "--detach", "cat $GRAPHD_IP_CONFIG; sleep 3600")
        job = done.stdout.strip()
        self.assertIn(f"watch it with `graphctl attach {job} --server_name ring`", done.stderr)
        wait_until("the output", lambda: self.graphctl(
            "logs", job, "--server_name", "ring").stdout.count("] 127.0.0.1\n") == 4)
        stopped = self.graphctl("stop", job, "--server_name", "ring")
        self.assertEqual(stopped.returncode, 0, stopped.stderr)
        wait_until("all to be gone", lambda: not self.left())
        done = self.launch("--launcher", "local", SHOW, trainers=1)
        self.assertEqual(self.lines(done.stdout), [(0, "0 0 2 1 0"), (1, "1 0 2 1 1")])
        self.write("ip.txt", "127.0.0.1\n192.0.2.7\n")
        done = self.launch("--launcher", "local", SHOW)
        self.assertEqual(done.returncode, 2)
        self.assertIn("ip_config names 192.0.2.7, which is not an address of this machine", done.stderr)
        done = self.graphctl("launch", "--launcher", "local", "true")
        self.assertEqual(done.returncode, 2)
        self.assertIn("--ip_config and --part_config are missing", done.stderr)
        done = self.graphctl("launch", "--launcher", "local", "--part_config", "none.json", "true")
        self.assertEqual(done.returncode, 3)
        self.assertIn("without --ip_config, the part config must be readable here", done.stderr)


class Quoting(GraphctlTest):
    NASTY = ("plain", "two  words", "it's", '"double"', "$HOME `id` $(id)", "back\\slash",
             "new\nline", "*", "~", "#x", "", "-n", "a;b&&c|d>e", "ünïcödé", "%s", "{1..3}",
             "'\"'\"'")

    def test_an_argument_vector_arrives_word_by_word(self):
        show = "import json, sys; print(json.dumps(sys.argv[1:]))"
        done = self.launch("--", "python3", "-c", show, *self.NASTY, trainers=1)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(json.loads(self.lines(done.stdout)[0][1]), list(self.NASTY))

    def test_the_commands_options_are_not_parsed_as_graphctls(self):
        done = self.launch("echo", "--num_trainers", "9", "--dry_run", "--", "--help", trainers=1)
        self.assertEqual(self.lines(done.stdout)[0][1], "--num_trainers 9 --dry_run -- --help")

    def test_one_string_is_an_unchanged_shell_program(self):
        text = """printf '%s|' "it's" 'a "b"' python3.11 /opt/python/x $((2+3)) `echo hi`"""
        done = self.launch(text, trainers=1)
        self.assertEqual(self.lines(done.stdout)[0][1],
                         "it's|a \"b\"|python3.11|/opt/python/x|5|hi|")

    def test_one_word_after_dash_dash_is_a_program_not_shell_text(self):
        self.write("a trainer;", "#!/bin/sh\necho ran\n")
        os.chmod(self.path("a trainer;"), 0o755)
        done = self.launch("--", "./a trainer;", trainers=1)
        self.assertEqual(self.lines(done.stdout), [(0, "ran"), (1, "ran")])


class ExitCodes(GraphctlTest):
    def test_the_failing_trainers_code_becomes_graphctls(self):
        done = self.launch("test $RANK != 2 || exit 37; exec sleep 60")
        self.assertEqual(done.returncode, 37)
        self.assertIn("trainer 2", done.stderr)

    def test_a_signal_becomes_128_plus_its_number(self):
        done = self.launch("test $RANK != 1 || kill -SEGV $$; exec sleep 60")
        self.assertEqual(done.returncode, 139)
        self.assertIn("signal 11", done.stderr)

    def test_a_missing_program_is_exit_code_127(self):
        done = self.launch("--", "./missing")
        self.assertEqual(done.returncode, 127)
        self.assertIn("./missing", done.stderr)

    def test_errors_name_a_remedy(self):
        for arguments, code, remedy in [
            (("--ip_config", "ip.txt"), 2, "command is missing"),
            (("true",), 2, "give --ip_config FILE"),
            (("--ip_config", "no.txt", "true"), 3, "no.txt"),
            (("--ip_config", "ip.txt", "--num_trainer", "1", "true"), 2, "--num_trainer"),
            (("--ip_config", "ip.txt", "--extra_envs", "true"), 2, "--extra_envs"),
            (("--ip_config", "ip.txt", "--num_trainers", "0", "true"), 2, "server start"),
            (("--ip_config", "ip.txt", "--part_config", "no.json", "true"), 3, "--part_config"),
            (("--ip_config", "ip.txt", "true"), 5, "--part_config"),
            (("--ip_config", "ip.txt", "--workspace", "/no/such", "true"), 3, "/no/such"),
            (("--ip_config", "ip.txt", "--server_name", "../x", "true"), 2, "server name"),
            (("--ip_config", "ip.txt", "--part_config", "ring.json", "--graphd", "/no/graphd",
              "true"), 3, "--graphd"),
        ]:
            with self.subTest(arguments):
                done = self.graphctl("launch", *arguments)
                self.assertEqual(done.returncode, code, done.stderr)
                self.assertIn(remedy, done.stderr)

    def test_ip_config_has_a_line_for_each_partition(self):
        for lines in (1, 3):
            for started in (False, True):
                with self.subTest(lines=lines, started=started):
                    if started:
                        self.start_server()
                    self.write("wrong.txt", f"127.0.0.1 {self.ports[0]}\n" * lines)
                    done = self.graphctl("launch", "--server_name", "ring", "--ip_config",
                                         "wrong.txt", "--part_config", "ring.json", "true")
                    self.assertIn(done.returncode, (2, 4), done.stderr)
                    self.assertIn("partition", done.stderr)
                    self.assertIn("ip_config", done.stderr)
                    if started:
                        self.stop_server()

    def test_a_daemon_that_cannot_start_shows_the_end_of_its_log(self):
        shutil.rmtree(self.path("part1"))
        done = self.launch("true")
        self.assertEqual(done.returncode, 3, done.stderr)
        self.assertIn("could not be started", done.stderr)
        self.assertIn("part1/", done.stderr)


class Servers(GraphctlTest):
    def test_a_server_that_the_launch_started_ends_with_the_job(self):
        done = self.launch("true")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("started server", done.stderr)
        self.assertEqual(self.daemons(), [])
        self.assertEqual(self.sockets(), [])

    def test_keep_alive_lets_the_next_job_attach_with_another_number_of_trainers(self):
        self.assertEqual(self.launch("--keep_alive", "true").returncode, 0)
        before = self.daemons()
        self.assertEqual(len(before), 2)
        done = self.launch("echo here", trainers=3)
        self.assertEqual(len(self.lines(done.stdout)), 6)
        self.assertIn("attached to server", done.stderr)
        self.assertEqual(self.daemons(), before)
        self.stop_server()
        self.assertEqual(self.daemons(), [])
        self.assertEqual(self.sockets(), [])

    def test_two_launches_at_once_share_the_daemons(self):
        jobs = [self.start_launch("echo up; while [ ! -e end ]; do sleep 0.02; done", trainers=1)
                for _ in range(2)]
        for job in jobs:
            self.assertIn("up", read_line(job.stdout))
        self.write("end", "")
        outputs = [job.communicate(timeout=30) for job in jobs]
        self.assertEqual([job.returncode for job in jobs], [0, 0], outputs)
        everything = outputs[0][1] + outputs[1][1]
        self.assertEqual(everything.count("starting server"), 2)
        self.assertEqual(everything.count("attached to server"), 2)
        wait_until("the servers to end with their last job", lambda: not self.left(), 5)

    def test_a_running_server_of_another_graph_is_rejected(self):
        self.start_server()
        self.write("other.json", self.read("ring.json").replace('"ring"', '"other"'))
        done = self.graphctl("launch", "--server_name", "ring", "--ip_config", "ip.txt",
                             "--part_config", "other.json", "true")
        self.assertEqual(done.returncode, 4, done.stderr)
        self.assertIn("other", done.stderr)
        self.assertIn("--server_name", done.stderr)
        self.stop_server()

    def test_a_daemon_that_dies_ends_the_job_with_its_log(self):
        job = self.start_launch("--server_grace", "0", "echo up; exec sleep 60", trainers=1)
        read_line(job.stdout)
        os.kill(self.daemons()[0], 9)
        begin = time.monotonic()
        _, err = job.communicate(timeout=30)
        self.assertLess(time.monotonic() - begin, 5 * SLOW)
        self.assertEqual(job.returncode, 5)
        self.assertIn("was killed by signal 9 while the job was running", err)

    def test_dry_run_shows_the_plan_and_does_nothing(self):
        done = self.launch("--dry_run", "--json", "--num_samplers", "2", "python3 a.py 'x y'")
        plan = json.loads(done.stdout)
        self.assertEqual(plan["world_size"], 4)
        self.assertEqual(plan["command"], ["python3 a.py 'x y'"])
        self.assertEqual([h["port"] for h in plan["hosts"]], self.ports)
        self.assertEqual(plan["hosts"][1]["trainers"][0]["env"]["RANK"], "2")
        text = self.launch("--dry_run", "python3 a.py 'x y'").stdout
        self.assertIn("python3 a.py 'x y'", text)
        self.assertFalse(os.path.exists(self.runtime))


if __name__ == "__main__":
    unittest.main(verbosity=2)
