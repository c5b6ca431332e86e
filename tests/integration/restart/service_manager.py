# SPDX-License-Identifier: Apache-2.0
"""A service manager with a store of descriptors, which speaks systemd's protocol: sd_notify(3),
sd_pid_notify_with_fds(3) and sd_listen_fds(3)."""

import contextlib
import os
import socket
import subprocess
import threading


class ServiceManager:
    """Starts one service at a time. Keeps the descriptors that the service gives it, and passes
    them to the next process. A thread of its own reads the service's messages."""

    def __init__(self, folder):
        self.path = os.path.join(folder, "notify")
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.socket.bind(self.path)
        self.kept = {}  # descriptors by name
        self.sockets = []  # those of a socket unit, each with its name
        self.ready = threading.Event()
        self.thread = threading.Thread(target=self.read, daemon=True)
        self.thread.start()

    def read(self):
        while True:
            text, descriptors, _, _ = socket.recv_fds(self.socket, 1 << 16, 16)
            lines = dict(line.split("=", 1) for line in text.decode().splitlines())
            name = lines.get("FDNAME", "stored")
            if lines.get("END"):
                return
            if lines.get("FDSTORE") == "1":
                self.kept[name], = descriptors
            elif lines.get("FDSTOREREMOVE") == "1":
                with contextlib.suppress(KeyError):
                    os.close(self.kept.pop(name))
            else:  # a barrier waits until its descriptor is closed
                for each in descriptors:
                    os.close(each)
            if lines.get("READY") == "1":
                self.ready.set()

    def start(self, *command, **options):
        """Starts the service with the sockets and all kept descriptors, from number 3 on."""
        self.ready.clear()
        passed = [(name, each.fileno()) for name, each in self.sockets] + list(self.kept.items())

        def pass_on():
            # Copies above all wanted numbers first, so that no descriptor replaces another.
            copies = [os.dup2(each, 1000 + i) for i, (_, each) in enumerate(passed)]
            for i, each in enumerate(copies):
                os.dup2(each, 3 + i)
                os.close(each)

        environment = dict(os.environ, NOTIFY_SOCKET=self.path)
        numbers = "SYSTEMD_EXEC_PID=$$"
        if passed:
            environment.update(LISTEN_FDS=str(len(passed)),
                               LISTEN_FDNAMES=":".join(name for name, _ in passed))
            numbers += " LISTEN_PID=$$"
        # A shell sets the number of the process, which is known only there.
        command = ("/bin/sh", "-c", numbers + ' exec "$@"', "sh", *command)
        return subprocess.Popen(command, env=environment, close_fds=False,
                                preexec_fn=pass_on if passed else None, **options)

    def close(self):
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sender:
            sender.sendto(b"END=1", self.path)
        self.thread.join()
        for each in self.kept.values():
            os.close(each)
        for _, each in self.sockets:
            each.close()
        self.socket.close()
