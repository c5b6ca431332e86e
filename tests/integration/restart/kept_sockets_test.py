#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Tests that clients wait at the sockets of a daemon while its process is replaced: at those that
the service manager keeps, and at those of a socket unit, which have to be the right ones."""

import os
import re
import signal
import socket
import stat
import struct
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "launch"))
from harness import BIN, DEADLINE, GRAPHCTL, SLOW, free_ports, wait_until
from restart_case import RestartCase

UNIT = "graphd@ring.socket"


class KeptSocketsTest(RestartCase):
    def socket_path(self, port=None):
        return self.path("run", "ring", f"{port or self.port}.sock")

    def kept_sockets(self):
        return [name for name in self.manager.kept if name.startswith("listener-")]

    def ask(self):
        """Starts a client that asks for the status, and returns it."""
        return subprocess.Popen(
            [GRAPHCTL, "ps", "--runtime_dir", self.path("run"), "--json"],
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)

    def assert_answered(self, client):
        text, _ = client.communicate(timeout=DEADLINE * SLOW)
        self.assertEqual(client.returncode, 0, text)
        self.assertIn('"server_name": "ring"', text)

    def connect_tcp(self, port=None):
        client = socket.create_connection(("127.0.0.1", port or self.port), DEADLINE)
        self.addCleanup(client.close)
        return client

    def assert_restart_is_waited_for(self, stop):
        log = self.start()
        self.assertNotIn("in place of", log)
        file = os.stat(self.socket_path())
        for _ in range(2):
            stop()
            # Nobody listens but the service manager; both clients are connected and wait.
            client, remote = self.ask(), self.connect_tcp()
            self.await_waiting_client()
            log = self.start()
            self.assertNotIn("in place of", log)
            self.assert_answered(client)
            remote.sendall(b"nonsense" * 4)
            remote.settimeout(DEADLINE * SLOW)
            self.assertNotEqual(remote.recv(1 << 16), b"", "the daemon says what is wrong")
            self.assertEqual(os.stat(self.socket_path()).st_ino, file.st_ino)

    def await_waiting_client(self):
        """Waits until a client is connected to the Unix socket, where nobody accepts."""
        def waits():
            with open("/proc/net/unix") as table:
                return sum(line.rstrip().endswith(self.socket_path()) for line in table) == 2
        wait_until("a client that waits", waits)

    def test_clients_wait_after_a_crash(self):
        self.assert_restart_is_waited_for(self.kill)

    def test_clients_wait_while_the_daemon_is_replaced(self):
        self.assert_restart_is_waited_for(lambda: self.end(signal.SIGINT))

    def test_the_listener_is_the_process_that_runs(self):
        self.start()
        self.kill()
        self.start()
        with socket.socket(socket.AF_UNIX) as client:
            client.connect(self.socket_path())
            self.assertEqual(peer_of(client)[0], self.process.pid)

    def test_a_stop_removes_the_socket(self):
        self.start()
        self.kill()
        self.start()
        self.end(signal.SIGTERM)
        self.assertFalse(os.path.exists(self.socket_path()))
        wait_until("the manager closes its sockets", lambda: not self.kept_sockets())
        # Another process may still come.
        self.assertNotIn("in place of", self.start())
        self.assertEqual(len(self.kept_sockets()), 2)
        self.assert_answered(self.ask())
        self.connect_tcp()

    def test_a_socket_without_its_file_is_replaced(self):
        self.start()
        self.end(signal.SIGINT)
        os.unlink(self.socket_path())
        self.assertIn(f"its file {self.socket_path()} is gone", self.start())
        self.assert_answered(self.ask())

    def test_a_stop_by_graphctl_removes_the_socket(self):
        self.start()
        subprocess.run([GRAPHCTL, "server", "stop", "--runtime_dir", self.path("run"),
                        "--server_name", "ring", "--ip_config", self.ip_config()],
                       check=True, capture_output=True, timeout=DEADLINE * SLOW)
        self.assertEqual(self.process.wait(DEADLINE * SLOW), 0)
        self.assertFalse(os.path.exists(self.socket_path()))

    def ip_config(self):
        with open(self.path("ip_config.txt"), "w") as out:
            out.write(f"127.0.0.1 {self.port}\n127.0.0.1 {self.port}\n")
        return out.name

    def test_a_stop_that_follows_a_restart_removes_the_socket(self):
        self.start()
        # The daemon sees both signals when it goes on.
        self.process.send_signal(signal.SIGSTOP)
        self.process.send_signal(signal.SIGINT)
        self.process.send_signal(signal.SIGTERM)
        self.process.send_signal(signal.SIGCONT)
        self.assertEqual(self.process.wait(DEADLINE * SLOW), 0)
        self.assertFalse(os.path.exists(self.socket_path()))

    def test_another_port_gets_new_sockets(self):
        self.start()
        self.end(signal.SIGINT)
        before, (self.port,) = self.port, free_ports(1)
        self.assertIn("in place of", self.start())
        self.assertFalse(os.path.exists(self.socket_path(before)))
        with self.assertRaises(ConnectionRefusedError):
            self.connect_tcp(before)
        self.connect_tcp()
        self.assert_answered(self.ask())

    def test_an_address_that_includes_the_one_before_can_be_bound(self):
        for i, address in enumerate(("127.0.0.1", "0.0.0.0", "127.0.0.1")):
            self.begin("--listen", f"{address}:{self.port}", "--insecure")
            log = self.await_ready()
            self.assertEqual("in place of" in log, i > 0, log)
            self.connect_tcp()
            self.end(signal.SIGINT)

    def test_a_port_that_the_system_chose_stays(self):
        self.begin("--listen", "127.0.0.1:0")
        before = re.search(r"at 127.0.0.1:(\d+) and", self.await_ready())[1]
        self.kill()
        self.begin("--listen", "127.0.0.1:0")
        self.assertIn(f"at 127.0.0.1:{before} and", self.await_ready())

    def test_a_daemon_without_listen_gives_its_tcp_socket_up(self):
        self.start()
        self.end(signal.SIGINT)
        self.begin("--port", str(self.port))
        self.await_ready()
        with self.assertRaises(ConnectionRefusedError):
            self.connect_tcp()
        self.assert_answered(self.ask())

    def unit_socket(self, path, listens=True, mode=0o660, kind=socket.SOCK_STREAM):
        """Makes a Unix socket as a socket unit does."""
        os.makedirs(os.path.dirname(path), exist_ok=True)
        made = socket.socket(socket.AF_UNIX, kind)
        made.bind(path)
        os.chmod(path, mode)
        if listens and kind == socket.SOCK_STREAM:
            made.listen(8)
        self.manager.sockets.append((UNIT, made))
        return made

    def test_the_sockets_of_a_unit_are_used_and_left_to_it(self):
        remote = socket.create_server(("127.0.0.1", self.port))
        self.manager.sockets.append((UNIT, remote))
        made = self.unit_socket(self.socket_path())
        early = self.ask()
        self.await_waiting_client()
        log = self.start()
        self.assertIn(f"{self.socket_path()}, which {UNIT} has passed", log)
        self.assertIn(f"127.0.0.1:{self.port}, which {UNIT} has passed", log)
        self.assert_answered(early)
        self.assertNotIn("listener-unix", self.manager.kept)
        self.assertNotIn("listener-tcp", self.manager.kept)
        for stop in (signal.SIGTERM, signal.SIGINT):
            self.end(stop)
            waiting = self.ask()
            self.await_waiting_client()
            self.connect_tcp()
            self.start()
            self.assert_answered(waiting)
        self.assertEqual(made.getsockname(), self.socket_path())

    def test_a_client_whose_connection_ends_without_an_answer_connects_again(self):
        made = self.unit_socket(self.socket_path())
        client = self.ask()
        made.accept()[0].close()  # the end of a process that is killed
        self.await_waiting_client()
        self.start()
        self.assert_answered(client)

    def test_a_client_does_not_connect_for_ever(self):
        made = self.unit_socket(self.socket_path())
        client = self.ask()
        for _ in range(3):
            made.accept()[0].close()
        text, _ = client.communicate(timeout=DEADLINE * SLOW)
        self.assertEqual(text.strip(), "[]")

    def test_a_unit_may_have_the_unix_socket_alone(self):
        self.unit_socket(self.socket_path())
        self.start()
        self.assertIn("listener-tcp", self.manager.kept)
        self.kill()
        self.connect_tcp()

    def test_the_configuration_decides_who_may_connect(self):
        self.unit_socket(self.socket_path(), mode=0o600)
        self.start("--allow_read", "all")
        self.assertEqual(stat.S_IMODE(os.stat(self.socket_path()).st_mode), 0o666)

    def assert_refused(self, *texts, options=None):
        self.begin(*(options or ("--port", str(self.port))))
        self.assertEqual(self.process.wait(DEADLINE * SLOW), 2, self.log())
        for text in (UNIT, f"systemctl edit {UNIT}", f"ListenStream={self.socket_path()}", *texts):
            self.assertIn(text, self.log())
        for _, each in self.manager.sockets:
            each.close()
        self.manager.sockets.clear()

    def test_a_unit_with_another_address_is_refused(self):
        other, = free_ports(1)
        self.unit_socket(self.socket_path(other))
        self.assert_refused(f"does not listen on {self.socket_path(other)}")
        self.manager.sockets.append((UNIT, socket.create_server(("127.0.0.1", other))))
        self.assert_refused(f"does not listen on 127.0.0.1:{other}")
        self.manager.sockets.append((UNIT, socket.create_server(("127.0.0.1", other))))
        self.assert_refused(f"does not listen on 127.0.0.1:{other}",
                            f"ListenStream=127.0.0.1:{self.port}",
                            options=("--listen", f"127.0.0.1:{self.port}"))
        # Nobody else can listen on an address beside a socket of all addresses.
        self.manager.sockets.append((UNIT, socket.create_server(("0.0.0.0", self.port))))
        self.assert_refused(f"does not listen on 0.0.0.0:{self.port}",
                            f"ListenStream=127.0.0.1:{self.port}",
                            options=("--listen", f"127.0.0.1:{self.port}"))
        self.assertFalse(os.path.exists(self.socket_path()), "its own socket is removed")

    def test_a_unit_with_another_kind_of_socket_is_refused(self):
        self.unit_socket(self.path("run", "datagrams"), kind=socket.SOCK_DGRAM)
        self.assert_refused("it is neither a Unix stream socket nor a TCP socket")
        self.unit_socket(self.path("run", "deaf"), listens=False)
        self.assert_refused(f"the socket {self.path('run', 'deaf')} does not listen")
        abstract = socket.socket(socket.AF_UNIX)
        abstract.bind(b"\0graphd-test-" + os.urandom(4).hex().encode())
        abstract.listen(1)
        self.manager.sockets.append((UNIT, abstract))
        self.assert_refused("does not listen on @graphd-test-")

    def test_kept_descriptors_that_are_no_sockets_are_replaced(self):
        self.start()
        self.end(signal.SIGINT)
        for name in ("listener-unix", "listener-tcp"):
            os.close(self.manager.kept[name])
            self.manager.kept[name] = os.memfd_create(name)
        os.unlink(self.socket_path())
        log = self.start()
        self.assertEqual(log.count("it is neither a Unix stream socket"), 2, log)
        self.assert_answered(self.ask())
        self.connect_tcp()

    def test_beyond_loopback_a_passed_socket_needs_protection_too(self):
        self.manager.sockets.append((UNIT, socket.create_server(("0.0.0.0", self.port))))
        self.begin("--listen", f"0.0.0.0:{self.port}")
        self.assertEqual(self.process.wait(DEADLINE * SLOW), 10, self.log())
        self.assertIn("--keys", self.log())

    def test_without_a_store_nothing_is_left(self):
        """The second manager wants to know when the daemon is ready, as graphctl does, and keeps
        nothing: it has not started the process itself."""
        for number, notify in ((signal.SIGINT, None), (signal.SIGTERM, None),
                               (signal.SIGINT, self.manager.path)):
            environment = {name: value for name, value in os.environ.items()
                           if name not in ("NOTIFY_SOCKET", "SYSTEMD_EXEC_PID")}
            if notify:
                environment["NOTIFY_SOCKET"] = notify
            with open(self.path("log"), "w") as out:
                self.process = subprocess.Popen(
                    [os.path.join(BIN, "graphd"), "--server_name", "ring", "--part_config",
                     self.path("ring.json"), "--part_id", "0,1", "--runtime_dir", self.path("run"),
                     "--port", str(self.port), "--state_dir", self.path("state")],
                    env=environment, stdout=out, stderr=subprocess.STDOUT)
            wait_until("a socket", lambda: "serving 'ring'" in self.log())
            self.assert_answered(self.ask())
            self.end(number)
            self.assertFalse(os.path.exists(self.socket_path()))


def peer_of(client):
    """Returns the process, user and group that the kernel reports for the other end."""
    return struct.unpack("iII", client.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))


if __name__ == "__main__":
    unittest.main()
