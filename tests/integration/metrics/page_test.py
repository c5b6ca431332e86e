#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Tests the page of graphd for people: a real browser shows a real server, and what it shows is
compared with what clients did."""

import http.server
import json
import os
import shutil
import signal
import socket
import sys
import tempfile
import threading
import time
import unittest
import unittest.mock
import urllib.request

import torch

import graphd

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "..", "python"))
sys.path.insert(0, HERE)
from browser import browse, draw  # noqa: E402

import support  # noqa: E402


class Page(unittest.TestCase):
    def setUp(self):
        (port,) = support.free_ports(1)
        self.address = f"127.0.0.1:{port}"
        self.daemons = support.Daemons("hetero_1p", "--metrics", self.address)
        self.addCleanup(self.daemons.stop)

    def browse(self, milliseconds, url=None):
        """Returns the page after these milliseconds, and what the browser's console said."""
        return browse(url or f"http://{self.address}/", milliseconds)

    def test_a_browser_shows_the_server_and_its_job(self):
        os.environ.update(GRAPHD_RUNTIME_DIR=self.daemons.runtime, GRAPHD_TRANSPORT="tcp")
        session = self.daemons.connect()
        graph = session.graph()
        ntype = graph.ntypes[0]
        nodes = torch.arange(graph.num_nodes(ntype))
        for _ in range(7):
            graphd.distributed.sample_neighbors(graph, {ntype: nodes}, 2)
        page, said = self.browse(5000)
        self.assertEqual(said, [])
        self.assertEqual(page.state, "state ready")
        self.assertEqual(page.texts[0], self.daemons.server_name)
        self.assertEqual(page.after("jobs"), "1")
        self.assertEqual(page.after("trainers"), "1")
        self.assertEqual(page.after("sample"), "7")
        self.assertIn("99 % waited", page.texts)
        self.assertIn("rows read in mapped memory/s", page.texts)
        self.assertIn("compute", page.texts)
        nodes_and_edges = page.texts.index("indexes") + 2
        self.assertEqual(page.texts[nodes_and_edges], f"{graph.num_nodes():,}")
        self.assertEqual(page.texts[nodes_and_edges + 1], f"{graph.num_edges():,}")
        self.assertNotIn("Tensors and checkpoints", page.texts)
        tensor = graphd.distributed.DistTensor(
            (len(nodes), 4),
            torch.float32,
            name="t",
            part_policy=graph.get_node_partition_policy(ntype),
            persistent=True,
        )
        tensor[nodes] = torch.ones(len(nodes), 4)
        graphd.checkpoint.create(graph, "first")
        page, _ = self.browse(5000)
        self.assertEqual(page.after("tensors and embeddings"), "1")
        self.assertEqual(page.after("shares of checkpoints written"), "1")
        number, unit = page.after("the daemon, resident").split()
        (process,) = self.daemons.processes
        with open(f"/proc/{process.pid}/status") as status:
            (resident,) = (int(line.split()[1]) for line in status if line.startswith("VmRSS"))
        self.assertEqual(unit, "MiB")
        self.assertAlmostEqual(float(number) * 1024 / resident, 1, delta=0.2)
        session.close()

    def test_a_picture_of_the_page_is_not_empty(self):
        """GRAPHD_PICTURES names a folder that keeps the picture, for people to look at."""
        os.environ.update(GRAPHD_RUNTIME_DIR=self.daemons.runtime, GRAPHD_TRANSPORT="tcp")
        session = self.daemons.connect(job_id="night")
        graph = session.graph()
        for _ in range(50):
            graphd.distributed.sample_neighbors(graph, {graph.ntypes[0]: torch.arange(9)}, 2)
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(os.environ.get("GRAPHD_PICTURES", folder), "page.png")
            width, height, lines = draw(f"http://{self.address}/", 6000, path)
        self.assertEqual((width, height, len(lines)), (1200, 1600, 1600))
        self.assertGreater(len(set(lines)), 300)  # lines of text and of tables differ
        session.close()

    def test_an_open_page_shows_the_rates_of_what_goes_on(self):
        os.environ.update(GRAPHD_RUNTIME_DIR=self.daemons.runtime, GRAPHD_TRANSPORT="tcp")
        session = self.daemons.connect(job_id="night")
        graph = session.graph()
        ntype = graph.ntypes[0]
        ended = threading.Event()

        def work():
            while not ended.is_set():
                graphd.distributed.sample_neighbors(graph, {ntype: torch.arange(9)}, 2)

        worker = threading.Thread(target=work)
        worker.start()
        self.addCleanup(worker.join)
        self.addCleanup(ended.set)

        def rates():
            """Returns the rates of requests and edges, of the server and of its job."""
            texts = self.browse(6000)[0].texts
            edges, job = texts.index("edges sampled/s"), texts.index("night")
            return texts[edges - 1], texts[edges + 1], texts[job + 5], texts[job + 7]

        # The browser's time hurries: it may wait two seconds in a moment, in which nothing goes on.
        for _ in range(10):
            shown = rates()
            if not {"0", "-"} & set(shown):
                break
        self.assertFalse({"0", "-"} & set(shown), shown)
        ended.set()
        worker.join()
        self.assertIn(self.browse(6000)[0].after("edges sampled/s"), ("0", "-"))
        session.close()

    def test_what_the_page_reads_has_the_counts_of_a_job_and_no_secret(self):
        os.environ.update(GRAPHD_RUNTIME_DIR=self.daemons.runtime, GRAPHD_TRANSPORT="tcp")
        with unittest.mock.patch.dict(os.environ, GRAPHD_JOB_SECRET="hush-hush"):
            session = self.daemons.connect(job_id="<b>night & day</b>")
        graph = session.graph()
        for _ in range(3):
            graphd.distributed.sample_neighbors(graph, {graph.ntypes[0]: torch.arange(5)}, 2)
        text = read(self.address, "status")
        (job,) = json.loads(text)["jobs"]
        self.assertEqual(job["job"], "<b>night & day</b>")
        self.assertEqual(job["owner"], f"uid {os.getuid()}")
        self.assertEqual((job["trainers"], job["world_size"]), (1, 1))
        self.assertGreaterEqual(job["requests"], 3)
        self.assertGreater(job["edges"], 0)
        self.assertNotIn("hush", text)
        self.assertEqual([name for name, _ in job["hosts"]], ["127.0.0.1"])
        session.close()

    def test_the_page_asks_nobody_but_its_server(self):
        with urllib.request.urlopen(f"http://{self.address}/", timeout=5) as answer:
            policy = answer.headers["Content-Security-Policy"]
            text = answer.read().decode()
        self.assertIn("default-src 'none'", policy)
        self.assertIn("connect-src 'self'", policy)
        for mark in ("src=", "@import", "url("):
            self.assertNotIn(mark, text)

    def test_a_server_that_ends_is_shown_as_such(self):
        # A copy of the page whose server is gone: the browser can load it, and gets no metrics.
        with urllib.request.urlopen(f"http://{self.address}/", timeout=5) as answer:
            text = answer.read()
        (process,) = self.daemons.processes
        process.kill()
        process.wait()
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "page.html")
            with open(path, "wb") as file:
                file.write(text)
            page, _ = self.browse(3000, f"file://{path}")
        self.assertEqual(page.state, "state lost")
        self.assertIn("no answer", page.texts)


class ManyServers(unittest.TestCase):
    def setUp(self):
        os.environ.pop("GRAPHD_TRANSPORT", None)
        *self.addresses, self.gone = (f"127.0.0.1:{port}" for port in support.free_ports(3))
        self.folder = tempfile.mkdtemp(prefix="graphd-page-")
        self.addCleanup(shutil.rmtree, self.folder)
        for part in (0, 1):
            self.configure(part, [*self.addresses, self.gone])
        self.daemons = support.Daemons("hetero_2p", of_part=lambda part: ["--config", self.config(part)])
        self.addCleanup(self.daemons.stop)

    def config(self, part):
        return f"{self.folder}/{part}.conf"

    def configure(self, part, peers):
        with open(self.config(part), "w") as out:
            out.write(f'metrics = "{self.addresses[part]}"\nmetrics_peers = {json.dumps(peers)}\n')

    def peers(self, part=0):
        return json.loads(read(self.addresses[part], "servers"))["peers"]

    def wait_for_peers(self, condition):
        """Waits until what the first server tells of its peers fits, as a browser that looks on."""
        end = time.monotonic() + 60 * support.slowness()
        while not condition(peers := self.peers()):
            self.assertLess(time.monotonic(), end, peers)
            time.sleep(0.05)

    def test_the_page_of_one_server_shows_all_and_their_job(self):
        session = self.daemons.connect(job_id="night")
        graph = session.graph()
        # The first server asks the second one every two seconds; the answer may come from its start.
        self.wait_for_peers(
            lambda peers: "error" in peers[2]
            and all(json.loads(peer.get("document", "{}")).get("num_trainers") for peer in peers[:2])
        )
        page, said = browse(f"http://{self.addresses[0]}/", 5000)
        self.assertEqual(said, [])
        self.assertEqual(page.state, "state ready")
        texts = page.texts
        host = socket.gethostname()
        # Its own address is in the list, and is not shown twice.
        servers = texts[texts.index("up for") + 1 : texts.index("Jobs")]
        self.assertEqual(servers[:3], [f"{host} (this one)", "ready", "0"])
        self.assertEqual(servers.count("ready"), 2)
        other = servers[servers.index(f"{host} ({self.addresses[1]})") :]
        self.assertEqual(other[1:5], ["ready", "1", "1", "1"])
        lost = other[other.index(self.gone) :]
        self.assertEqual(lost[1], "no answer")
        self.assertRegex(lost[2], r"^for \d+ (s|min): Connection refused")
        job = texts[texts.index("attached for") + 1 :]
        self.assertEqual(job[:5], ["night", f"uid {os.getuid()}", "1 of 1", host, "2"])
        # A server that ends is shown so, and the job with the other one.
        del graph
        self.daemons.processes[1].kill()
        self.daemons.processes[1].wait()
        self.wait_for_peers(lambda peers: "silent" in peers[1])
        texts = browse(f"http://{self.addresses[0]}/", 5000)[0].texts
        servers = texts[texts.index("up for") + 1 : texts.index("Jobs")]
        self.assertEqual((servers.count("ready"), servers.count("no answer")), (1, 2))
        job = texts[texts.index("attached for") + 1 :]
        self.assertEqual((job[0], job[4]), ("night", "1"))
        session.close()

    def test_silent_peers_hold_up_no_other(self):
        silent = [socket.create_server(("127.0.0.1", 0)) for _ in range(20)]
        for each in silent:
            self.addCleanup(each.close)
        names = [f"127.0.0.1:{each.getsockname()[1]}" for each in silent]
        self.configure(0, [*names, self.addresses[1]])
        self.daemons.processes[0].send_signal(signal.SIGHUP)
        self.wait_for_peers(lambda peers: len(peers) == 21 and "document" in peers[-1])
        age = self.peers()[-1]["age"]
        self.wait_for_peers(lambda peers: all("silent" in each for each in peers[:-1]))
        # It is asked again, too.
        self.wait_for_peers(lambda peers: peers[-1]["age"] < age + 2)

    def test_a_reload_changes_the_peers(self):
        self.configure(0, [self.addresses[1]])
        self.daemons.processes[0].send_signal(signal.SIGHUP)
        self.wait_for_peers(lambda peers: [each["address"] for each in peers] == self.addresses[1:])
        self.assertEqual(len(self.peers(1)), 3)

    def test_a_peer_can_put_nothing_but_text_on_the_page(self):
        document = {
            "id": "x", "host": "<img src=x onerror=alert(1)>", "state": "ready lost", "parts": [{}, "a"],
            "uptime_seconds": {"valueOf": 1, "toString": 2}, "requests": {"toString": None},
            "jobs": [None, 5, {"job": "<script>alert(2)</script>", "hosts": [5, ["h"], {"x": 1}],
                               "seconds": "1", "requests": {"toString": 1}},
                     *[{}] * 60000],
        }  # fmt: skip

        class Peer(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                body = json.dumps(document).encode()
                self.send_response(200)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_):
                pass

        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Peer)
        threading.Thread(target=server.serve_forever).start()
        self.addCleanup(server.server_close)
        self.addCleanup(server.shutdown)
        self.configure(0, [f"127.0.0.1:{server.server_port}"])
        self.daemons.processes[0].send_signal(signal.SIGHUP)
        self.wait_for_peers(lambda peers: len(peers) == 1 and "document" in peers[0])
        page, said = browse(f"http://{self.addresses[0]}/", 5000)
        self.assertEqual(said, [])
        self.assertEqual(page.state, "state ready")
        self.assertIn(document["host"], page.texts)
        self.assertIn("unknown", page.texts)
        self.assertIn(document["jobs"][2]["job"], page.texts)


def read(address, path):
    with urllib.request.urlopen(f"http://{address}/{path}", timeout=10) as answer:
        return answer.read().decode()


if __name__ == "__main__":
    unittest.main()
