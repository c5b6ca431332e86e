#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Builds the image of the Debian packages in a folder (argument), and runs the manifests of
packaging/kubernetes with it under podman: two servers and two trainers in pods of their own."""

import base64
import contextlib
import copy
import json
import os
import shutil
import sys
import tempfile
import time
import unittest

from manifests import find, render
from pods import Node, Pod, run

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
DEADLINE = 60
MOST_MEGABYTES = 60

# Cuts a graph of communities, which features show only in part, into two partitions.
PARTITION = """
import numpy as np
from graphd.distributed import partition_graph
random = np.random.default_rng(1)
nodes, classes = 2000, 4
label = random.integers(0, classes, nodes)
source = random.integers(0, nodes, 40000)
target = random.integers(0, nodes, 40000)
keep = (label[source] == label[target]) | (random.random(40000) < 0.1)
feat = np.eye(classes, dtype=np.float32)[label] + random.normal(0, 0.8, (nodes, classes))
partition_graph((source[keep], target[keep]), "products", 2, "/graph",
                ndata={"feat": np.float32(feat), "label": label,
                       "train_mask": np.ones(nodes, dtype=bool)})
"""

# Keeps a tensor with the servers, or compares it, and then stays until the file is there.
STAY = """
import os, time
import numpy as np
import graphd
from graphd.distributed import DistGraph, DistTensor
graphd.distributed.initialize()
g = DistGraph("products")
kept = DistTensor((g.num_nodes(), 4), name="kept", persistent=True)
rows = np.arange(g.num_nodes())
if os.environ["RANK"] == "0":
    kept[rows] = np.float32(rows[:, None] * np.ones(4))
g.barrier()
print("attached", flush=True)
while not os.path.exists("/tmp/go"):
    time.sleep(0.05)
assert (kept[rows][:, 0] == rows).all()
g.barrier()
"""


class Image(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = cls.enterClassContext(tempfile.TemporaryDirectory(prefix="graphd-image."))
        cls.node = Node(cls.folder)
        cls.addClassCleanup(run, "umount", "--recursive", "--lazy", cls.folder)
        cls.addClassCleanup(cls.node.close)
        cls.archive = os.path.join(cls.folder, "graphd.tar")
        start = time.monotonic()
        cls.said = run(os.path.join(ROOT, "scripts", "image"), "--packages", packages, "--output",
                       cls.archive, env=os.environ | {"TMPDIR": cls.folder}, timeout=300)
        print(f"{cls.said.splitlines()[-1]} in {time.monotonic() - start:.0f} s", file=sys.stderr)
        cls.node.make_network()  # Debian's mirror is needed no more
        cls.node.podman("load", "--input", cls.archive)
        manifests = shutil.copytree(os.path.join(ROOT, "packaging", "kubernetes"),
                                    os.path.join(cls.folder, "kubernetes"))
        cls.write_secret(os.path.join(manifests, "server"))
        cls.server = render(os.path.join(manifests, "server"))
        cls.trainer = render(os.path.join(manifests, "trainer"))
        (cls.image,) = {each["spec"]["template"]["spec"]["containers"][0]["image"]
                        for each in (find(cls.server, "StatefulSet", "graphd"),
                                     find(cls.trainer, "Job", "train"))}

    @classmethod
    def write_secret(cls, folder):
        """Makes the shared secret as the how-to does, with the graphctl of the image."""
        cls.node.podman("run", "--rm", "--pull=never", "--network=none", *cls.node.container_line(),
                        "--user=0:0", f"--volume={folder}:/out", "--entrypoint=[\"graphctl\"]",
                        f"localhost/graphd:{cls.version()}", "keys", "create", "--shared_secret",
                        "--server_name", "graphd", "--keys", "/out")

    @classmethod
    def version(cls):
        with open(os.path.join(ROOT, "CMakeLists.txt")) as file:
            return file.read().partition("project(graphd VERSION ")[2].split()[0]

    def pods_of_servers(self, claims):
        owner = find(self.server, "StatefulSet", "graphd")
        return [Pod(self.node, f"graphd-{i}", f"10.98.0.{i + 1}", owner, self.server, claims,
                    labels={"apps.kubernetes.io/pod-index": str(i)})
                for i in range(owner["spec"]["replicas"])]

    def pods_of_job(self, name, number, script=None, objects=None):
        """Returns the pods of a job like the one of the manifests, but for its name and script."""
        objects = copy.deepcopy(self.server + self.trainer if objects is None else objects)
        if script:
            find(objects, "ConfigMap", "train")["data"]["train.py"] = script
        owner = find(objects, "Job", "train")
        return [Pod(self.node, f"{name}-{i}", f"10.98.0.{number + i}", owner, objects, {},
                    labels={"batch.kubernetes.io/job-name": name,
                            "batch.kubernetes.io/controller-uid": f"uid-{number}"},
                    annotations={"batch.kubernetes.io/job-completion-index": str(i)})
                for i in range(owner["spec"]["completions"])]

    def assert_ends(self, pods, code=0):
        for pod in pods:
            self.assertEqual(pod.wait(DEADLINE), code, f"{pod.name}:\n{pod.log()}")

    def wait_for(self, what, condition):
        end = time.monotonic() + DEADLINE
        while not condition():
            self.assertLess(time.monotonic(), end, f"{what} does not happen")
            time.sleep(0.05)

    def test_the_image_says_what_it_is(self):
        (found,) = json.loads(self.node.podman("image", "inspect", self.image))
        config = found["Config"]
        self.assertEqual(config["User"], "10001:10001")
        self.assertEqual(config["Entrypoint"], ["/usr/bin/graphd"])
        self.assertEqual(sorted(config["Volumes"]), ["/run/graphd", "/var/lib/graphd"])
        labels = {name.removeprefix("org.opencontainers.image."): value
                  for name, value in config["Labels"].items()}
        self.assertEqual(labels["version"], self.version())
        self.assertEqual(labels["licenses"], "Apache-2.0")
        self.assertRegex(labels["revision"], "^([0-9a-f]{40}|unknown)$")
        self.assertLess(os.path.getsize(self.archive) / 2**20, MOST_MEGABYTES)
        said = self.node.podman("run", "--rm", "--pull=never", "--network=none",
                                *self.node.container_line(), self.image, "--version")
        self.assertEqual(said, f"graphd {self.version()}\n")
        # There is a licence for each package, and neither manuals nor lists of packages.
        files = self.node.podman(
            "run", "--rm", "--pull=never", "--network=none", *self.node.container_line(),
            "--entrypoint=[\"sh\",\"-c\"]", self.image,
            "ls /usr/share/doc/*/copyright /usr/share/man /var/lib/apt /var/lib/dpkg/status.d 2>&1;"
            " true")
        for package in ("graphd", "graphctl", "python3-graphd", "libc6", "librocksdb7.8"):
            self.assertIn(f"/usr/share/doc/{package}/copyright\n", files)
            self.assertIn(f"\n{package}\n", files)
        self.assertIn("/usr/share/man: No such file", files)
        self.assertIn("/var/lib/apt: No such file", files)

    def test_the_manifests_serve_train_and_stop(self):
        graph = os.path.join(self.folder, "graph")
        os.mkdir(graph)
        os.chown(graph, 10001, 10001)
        self.node.podman("run", "--rm", "--pull=never", "--network=none", "--read-only",
                         *self.node.container_line(), f"--volume={graph}:/graph",
                         "--entrypoint=[\"python3\",\"-c\"]", self.image, PARTITION)
        servers = self.pods_of_servers({"graphd-graph": graph})
        for pod in servers:
            self.assertEqual(pod.probe("readinessProbe")[0], 0)
            pod.start()
        for pod in servers:
            pod.wait_until_ready(DEADLINE)
            self.assertEqual(pod.probe("livenessProbe"), (200, "alive\n"))
            status = json.loads(pod.execute("graphctl", "ps", "--json"))
            self.assertIn(f'"part": {servers.index(pod)}', json.dumps(status))

        trainers = [pod.start() for pod in self.pods_of_job("train", 10)]
        self.assert_ends(trainers)
        for rank, pod in enumerate(trainers):
            last = pod.log().splitlines()[-1]
            self.assertRegex(last, rf"^epoch 4: trainer {rank} of 2: [0-9.]+ of its nodes right$")
            self.assertGreater(float(last.split()[-5]), 0.8, pod.log())

        # Only who knows the secret is let in.
        others = copy.deepcopy(self.server + self.trainer)
        secret = find(others, "Secret", "graphd-secret")["data"]
        secret["secret.key"] = base64.b64encode(b"1" * 64).decode()
        strangers = [pod.start() for pod in self.pods_of_job("strangers", 20, objects=others)]
        for pod in strangers:
            self.assertNotEqual(pod.wait(DEADLINE), 0)
            self.assertIn("secret", pod.log())

        # A killed server starts again in its pod, with the tensors that were in its memory.
        stay = [pod.start() for pod in self.pods_of_job("stay", 30, STAY)]
        for pod in stay:
            self.wait_for("attaching", lambda pod=pod: "attached" in pod.log())
        self.assertTrue(os.listdir(servers[1].volumes["memory"]))
        self.node.podman("kill", "--signal=KILL", servers[1].name)
        self.assertEqual(servers[1].wait(DEADLINE), 137)
        self.assertEqual(servers[1].probe("readinessProbe")[0], 0)
        self.node.podman("start", servers[1].name)
        servers[1].wait_until_ready(DEADLINE)

        # A drained server refuses new jobs, and waits for those that are attached.
        stopping = [pod.begin_to_stop() for pod in servers]
        for pod in servers:
            self.wait_for("draining", lambda pod=pod: pod.probe("readinessProbe")[0] == 503)
            self.assertEqual(pod.probe("readinessProbe")[1], "drained: new jobs are refused\n")
            self.assertEqual(pod.probe("livenessProbe")[0], 200)
        late = [pod.start() for pod in self.pods_of_job("late", 40)]
        for pod in late:
            self.assertNotEqual(pod.wait(DEADLINE), 0)
            self.assertIn("its pod is stopped", pod.log())
        self.assertEqual([each.poll() for each in stopping], [None, None])
        for pod in stay:
            pod.execute("sh", "-c", "echo >/tmp/go")
        self.assert_ends(stay)
        for each in stopping:
            said, _ = each.communicate(timeout=DEADLINE)
            self.assertEqual(each.returncode, 0, said)
            self.assertIn("no job is attached", said)
        for pod in servers:
            start = time.monotonic()
            self.assertEqual(pod.terminate(DEADLINE), 0, pod.log())
            self.assertLess(time.monotonic() - start, 20)
            self.assertEqual(os.listdir(pod.volumes["memory"]), [])
            sockets = [name for _, _, files in os.walk(pod.volumes["runtime"]) for name in files
                       if name.endswith(".sock")]
            self.assertEqual(sockets, [])
            self.assertNotIn("warning", pod.log())


if __name__ == "__main__":
    packages = sys.argv.pop(1)
    with contextlib.suppress(KeyboardInterrupt):
        unittest.main()
