#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Tests the metrics of graphd: a real Prometheus scrapes real servers, and its answers are compared
with what clients did and with graphctl ps."""

import contextlib
import json
import os
import re
import shutil
import socket
import subprocess
import sys
import threading
import time
import unittest
import urllib.error
import urllib.request

import prometheus_client.openmetrics.parser
import prometheus_client.parser
import torch
from prometheus_client import openmetrics

import graphd

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.join(HERE, "..", "..", "..")
sys.path.insert(0, os.path.join(HERE, "..", "..", "python"))
from prometheus import ALERT_CASES, RULES, Prometheus, wait_for  # noqa: E402

import support  # noqa: E402

MOST_CONNECTIONS = 32
# loading_test.py sees them.
WHILE_LOADING = {"graphd_loading_bytes", "graphd_loading_total_bytes"}
METRIC = r"\b(?:graphd|process)_[a-z_]+\b"


def scrape(address):
    with urllib.request.urlopen(f"http://{address}/metrics", timeout=5) as answer:
        return answer.read().decode()


def families(page):
    return set(re.findall(r"^# TYPE (\S+)", page, re.MULTILINE))


def series(parser, page):
    """Returns the names and labels of all samples."""
    return {
        (
            sample.name,
            *(
                (name, str(float(value)) if name == "le" else value)
                for name, value in sorted(sample.labels.items())
            ),
        )
        for family in parser.text_string_to_metric_families(page)
        for sample in family.samples
    }


def alerts(prometheus):
    """Returns the expressions of the alert rules by name."""
    (group,) = prometheus.get("rules")["groups"]
    return {rule["name"]: rule["query"] for rule in group["rules"]}


class Server:
    """A server of the fixture with metrics."""

    def __init__(self, *options):
        (port,) = support.free_ports(1)
        self.address = f"127.0.0.1:{port}"
        self.daemons = support.Daemons("hetero_1p", "--metrics", self.address, *options)
        (self.process,) = self.daemons.processes

    def graphctl(self, verb):
        return subprocess.run(
            [
                os.path.join(support.BIN, "graphctl"),
                verb,
                "--json",
                "--server_name",
                self.daemons.server_name,
                "--ip_config",
                self.daemons.ip_config,
            ],
            env=self.daemons.environment(),
            capture_output=True,
            text=True,
            timeout=30,
        )

    def status(self):
        return json.loads(self.graphctl("ps").stdout)[0]["status"]

    def health(self):
        """Returns the exit code of graphctl status, and what it says about the server."""
        done = self.graphctl("status")
        return done.returncode, json.loads(done.stdout)[0]

    def connect(self, test):
        """Returns a graph whose requests go over TCP, even if they are to this machine."""
        os.environ.update(GRAPHD_RUNTIME_DIR=self.daemons.runtime, GRAPHD_TRANSPORT="tcp")
        session = self.daemons.connect()
        test.addCleanup(session.close)
        return session, session.graph()


class Metrics(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = Server("--embedding_memory", "1GiB")
        cls.addClassCleanup(cls.server.daemons.stop)
        cls.other = Server()  # its tensors have memory that survives the process
        cls.addClassCleanup(cls.other.daemons.stop)
        cls.prometheus = Prometheus([cls.server.address, cls.other.address])
        cls.addClassCleanup(cls.prometheus.stop)

    def of(self, server, metric, labels=""):
        return f'{metric}{{instance="{server.address}"{labels}}}'

    def numbers(self):
        """Returns what the metrics of the server say now, by name and labels."""
        time.sleep(0.15)  # the server keeps its page for a tenth of a second
        page = scrape(self.server.address)
        found = re.findall(r"^(graphd_\w+)(?:\{(.*?)\})? (\S+)$", page, re.MULTILINE)
        return {(name, labels): float(value) for name, labels, value in found}

    def assert_prometheus_says(self, metric, expected, labels="", server=None):
        expression = self.of(server or self.server, metric, labels)
        try:
            wait_for(expression, lambda: self.prometheus.value(expression) == expected)
        except AssertionError:
            self.assertEqual(self.prometheus.value(expression), expected, expression)

    def test_prometheus_answers_what_clients_did(self):
        session, graph = self.server.connect(self)
        self.assert_prometheus_says("graphd_jobs", 1)
        self.assert_prometheus_says("graphd_trainers", 1)
        before = self.numbers()
        ntype = graph.ntypes[0]
        nodes = torch.arange(graph.num_nodes(ntype))
        name = next(iter(graph.nodes[ntype].data))
        edges = rows = 0
        for _ in range(5):
            sampled = graphd.distributed.sample_neighbors(graph, {ntype: nodes}, 2)
            edges += sum(sampled.num_edges(each) for each in sampled.canonical_etypes)
            rows += len(graph.nodes[ntype].data[name][nodes])
        tensor = graphd.distributed.DistTensor(
            (len(nodes), 4),
            torch.float32,
            name="written",
            part_policy=graph.get_node_partition_policy(ntype),
        )
        for value in range(3):
            tensor[nodes] = torch.full((len(nodes), 4), float(value))
        self.assertGreater(edges, 0)

        def since(metric, labels=""):
            return self.numbers()[metric, labels] - before.get((metric, labels), 0)

        # The page and Prometheus count what this client has counted.
        for metric, kind, count in (
            ("graphd_sampled_edges_total", "", edges),
            ("graphd_rows_served_total", "", rows),
            ("graphd_request_duration_seconds_count", 'kind="sample"', 5),
            ("graphd_request_duration_seconds_count", 'kind="gather"', 5),
            ("graphd_request_queue_seconds_count", 'kind="sample"', 5),
        ):
            self.assertEqual(since(metric, kind), count, metric)
            total = before.get((metric, kind), 0) + count
            self.assert_prometheus_says(metric, total, f",{kind}" if kind else "")
        # A wait is a part of a request's time.
        for kind in ("sample", "gather", "change_rows"):
            waited = since("graphd_request_queue_seconds_sum", f'kind="{kind}"')
            took = since("graphd_request_duration_seconds_sum", f'kind="{kind}"')
            self.assertLessEqual(waited, took, kind)
            self.assertGreater(took, 0, kind)
        # Changes go through a pool, because the server's memory for tensors is bounded.
        self.assertGreater(since("graphd_request_queue_seconds_sum", 'kind="change_rows"'), 0)
        self.assertEqual(since("graphd_mapped_calls_total"), 0)  # all went over TCP
        self.assertGreaterEqual(since("graphd_pushes_total"), 3)
        self.assertGreaterEqual(since("graphd_sent_bytes_total"), 4 * rows)
        self.assertEqual(since("graphd_tensors"), 1)

        # The server has no other clients, so its status says the same.
        status = self.server.status()
        for metric, value in {
            "graphd_requests_total": status["requests"],
            "graphd_rows_served_total": status["rows_served"],
            "graphd_sampled_edges_total": status["edges_sampled"],
            "graphd_sent_bytes_total": status["bytes_sent"],
            "graphd_pushes_total": status["store"]["pushes"],
            "graphd_tensor_resident_bytes": status["store"]["resident_bytes"],
            "graphd_tensor_memory_limit_bytes": 1 << 30,
            "graphd_partition_nodes": status["partitions"][0]["nodes"],
            "graphd_partition_edges": status["partitions"][0]["edges"],
            "graphd_partition_bytes": status["partitions"][0]["bytes"],
        }.items():
            self.assert_prometheus_says(metric, value)
        self.assert_prometheus_says("graphd_state", 1, ',state="ready"')
        self.assert_prometheus_says("graphd_state", 0, ',state="draining"')
        del graph, sampled, tensor  # these keep the session attached
        session.close()
        self.assert_prometheus_says("graphd_jobs", 0)
        self.assert_prometheus_says("graphd_trainers", 0)
        self.assert_prometheus_says("graphd_connections", 0)

    def test_prometheus_knows_reads_in_mapped_memory_and_quantiles(self):
        server = self.other
        os.environ.update(GRAPHD_RUNTIME_DIR=server.daemons.runtime, GRAPHD_TRANSPORT="auto")
        sessions = server.daemons.connect_trainers("quantiles", 2)
        for session in sessions:
            self.addCleanup(session.close)
        graph = sessions[0].graph()
        ntype = graph.ntypes[0]
        nodes = torch.arange(graph.num_nodes(ntype))
        name = next(iter(graph.nodes[ntype].data))
        metrics = ("calls", "rows", "bytes", "sampled_edges")
        of = {each: self.of(server, f"graphd_mapped_{each}_total") for each in metrics}
        before = {each: self.prometheus.value(metric) for each, metric in of.items()}
        read = [graph.nodes[ntype].data[name][nodes] for _ in range(3)]
        sampled = [graphd.distributed.sample_neighbors(graph, {ntype: nodes}, 2) for _ in range(4)]
        edges = sum(each.num_edges(etype) for each in sampled for etype in each.canonical_etypes)
        self.assertGreater(edges, 0)
        for each, more in (
            ("calls", len(read) + len(sampled)),
            ("rows", sum(len(rows) for rows in read)),
            ("bytes", sum(rows.numel() * rows.element_size() for rows in read)),
            ("sampled_edges", edges),
        ):
            self.assert_prometheus_says(
                f"graphd_mapped_{each}_total", before[each] + more, server=server
            )
        # Each of four barriers lasts half a second, for which the trainer of rank 1 waits for the other.
        other = threading.Thread(target=lambda: [sessions[1].barrier() for _ in range(4)])
        other.start()
        for _ in range(4):
            time.sleep(0.5)
            sessions[0].barrier()
        other.join()
        count = self.of(server, "graphd_request_duration_seconds_count", ',kind="barrier"')
        wait_for("the barriers", lambda: self.prometheus.value(count) >= 8)
        buckets = self.of(server, "graphd_request_duration_seconds_bucket", ',kind="barrier"')
        self.assertGreaterEqual(self.prometheus.value(f"histogram_quantile(0.99, {buckets})"), 0.3)
        queued = self.of(server, "graphd_request_queue_seconds_bucket", ',kind="barrier"')
        self.assertLess(self.prometheus.value(f"histogram_quantile(0.99, {queued})"), 0.3)

    def make_tensor(self, graph, name, columns=4, **options):
        ntype = graph.ntypes[0]
        return graphd.distributed.DistTensor(
            (graph.num_nodes(ntype), columns),
            torch.float32,
            name=name,
            part_policy=graph.get_node_partition_policy(ntype),
            **options,
        )

    def test_failed_requests_are_counted(self):
        def errors():
            return sum(
                value
                for (name, _), value in self.numbers().items()
                if name == "graphd_request_errors_total"
            )

        _, graph = self.server.connect(self)
        kept = self.make_tensor(graph, "of_two_jobs", persistent=True)
        self.assertEqual(kept.shape[1], 4)
        before = errors()
        _, other = self.server.connect(self)
        with self.assertRaisesRegex(Exception, "of_two_jobs"):
            self.make_tensor(other, "of_two_jobs", columns=5, persistent=True)
        self.assertEqual(errors(), before + 1)

    def test_the_page_is_well_formed_and_in_the_manual(self):
        shown = set()
        for server in (self.server, self.other):
            _, graph = server.connect(self)
            tensor = self.make_tensor(graph, "small")
            time.sleep(0.15)  # the server keeps its page for a tenth of a second
            page = scrape(server.address)
            self.assertEqual(tensor.shape[1], 4)
            shown |= families(page)
            checked = subprocess.run(
                ["promtool", "check", "metrics"],
                input=page,
                capture_output=True,
                text=True,
                timeout=30,
            )
            said = checked.stdout + checked.stderr
            self.assertEqual((checked.returncode, said), (0, ""))
        with open(os.path.join(ROOT, "man", "graphd.8"), encoding="utf-8") as file:
            manual = re.findall(r"^\.It Li ((?:graphd|process)_\w+)", file.read(), re.MULTILINE)
        self.assertEqual(sorted(shown | WHILE_LOADING), sorted(manual))

    def test_checkpoints_are_counted(self):
        _, graph = self.other.connect(self)
        tensor = self.make_tensor(graph, "of_checkpoints", persistent=True)
        self.assertEqual(tensor.shape[1], 4)
        before = self.prometheus.value(self.of(self.other, "graphd_checkpoint_shares_total"))
        for name in ("first", "second"):
            graphd.checkpoint.create(graph, name, tensors=["of_checkpoints"])
        self.assert_prometheus_says("graphd_checkpoint_shares_total", before + 2, server=self.other)

    def test_refused_connections_are_counted(self):
        server = Server("--max_connections", "1")
        self.addCleanup(server.daemons.stop)
        with open(server.daemons.ip_config) as file:
            host, port = file.read().split()

        def connect():
            connection = socket.create_connection((host, int(port)), timeout=15)
            self.addCleanup(connection.close)
            return connection

        first = connect()
        for _ in range(3):
            self.assert_closed(connect())
        time.sleep(0.15)
        page = scrape(server.address)
        self.assertIn('\ngraphd_connections_refused_total{reason="limit"} 3\n', page)
        self.assertIn("\ngraphd_connections_accepted_total 1\n", page)
        self.assertIn("\ngraphd_connections 1\n", page)
        first.close()

    def test_no_text_of_a_client_is_shown(self):
        _, graph = self.server.connect(self)
        tensor = self.make_tensor(graph, "a-tensor-with-a-name")
        self.assertEqual(tensor.shape[1], 4)
        status = self.server.status()
        chosen = [job["job"] for job in status["jobs"]] + [
            each["name"] for each in status["tensors"]
        ]
        self.assertIn("a-tensor-with-a-name", chosen)
        self.assertGreaterEqual(len(chosen), 2)
        time.sleep(0.15)
        labels = re.findall(r'="([^"]*)"', scrape(self.server.address))
        self.assertIn("ready", labels)
        self.assertEqual(set(labels) & set(chosen), set())

    def test_every_panel_and_rule_asks_for_metrics_that_exist(self):
        scrape_file = os.path.join(os.path.dirname(RULES), "graphd.scrape.yml")
        for check in (["check", "rules", RULES], ["test", "rules", ALERT_CASES],
                      ["check", "config", scrape_file]):
            checked = subprocess.run(["promtool", *check], capture_output=True)
            self.assertEqual(checked.returncode, 0, checked.stdout + checked.stderr)
        with open(ALERT_CASES) as file:
            self.assertEqual(set(re.findall(r"alertname: (\w+)", file.read())),
                             set(alerts(self.prometheus)), "each alert has its cases")
        with open(os.path.join(ROOT, "packaging", "grafana", "graphd.json")) as file:
            dashboard = json.load(file)
        asked = [
            target["expr"] for panel in dashboard["panels"] for target in panel.get("targets", ())
        ]
        self.assertGreater(len(asked), 20)
        rules = list(alerts(self.prometheus).values())
        self.assertGreater(len(rules), 10)
        for server in (self.server, self.other):
            _, graph = server.connect(self)
            self.make_tensor(graph, "asked_for")[torch.arange(10)] = torch.ones(10, 4)
            self.assert_prometheus_says("graphd_store_trouble", 0, server=server)
        names = set(self.prometheus.get("label/__name__/values")) | WHILE_LOADING

        def filled_in(expression):
            return expression.replace("$__rate_interval", "1m").replace("$instance", ".*")

        for expression in asked:
            # Panels about loading, errors and write-back are empty while there is nothing to show.
            if not re.search("graphd_loading|errors_total|write_back", expression):
                wait_for(expression, lambda e=expression: self.prometheus.query(filled_in(e)))
        for expression in asked + rules:
            with self.subTest(expression):
                plain = filled_in(expression)
                self.prometheus.query(plain)  # raises an error for one that is not valid
                self.assertEqual(set(re.findall(METRIC, plain)) - names, set())

    def test_rules_tell_trouble_from_health(self):
        server = Server()
        self.addCleanup(server.daemons.stop)
        prometheus = Prometheus([server.address])
        self.addCleanup(prometheus.stop)
        _, graph = server.connect(self)
        tensor = self.make_tensor(graph, "in_trouble")
        nodes = torch.arange(10)
        tensor[nodes] = torch.ones(10, 4)
        wait_for("a tensor", lambda: prometheus.value("graphd_tensors") == 1)
        rules = alerts(prometheus)
        alarms = {name for name, each in rules.items() if prometheus.query(each)}
        alarms.discard("GraphdFileSystemNearlyFull")  # it may be true of this machine
        self.assertEqual(alarms, set())
        self.assertEqual(server.health()[0], 0)

        def is_true(rule):
            return prometheus.query(rules[rule])

        shutil.rmtree(server.status()["store"]["memory"])
        with self.assertRaisesRegex(Exception, "was removed"):
            for _ in range(1000):
                tensor[nodes] = torch.ones(10, 4)
                time.sleep(0.01)
        wait_for("the rule of trouble", lambda: is_true("GraphdTensorsInTrouble"))
        code, health = server.health()
        self.assertEqual((code, health["state"], health["ready"]), (1, "ready", True))
        self.assertIn("was removed", health["degraded"][0])
        self.assertEqual(tensor[nodes].sum().item(), 40)
        server.process.kill()
        server.process.wait()
        wait_for("the rule of a server that is down", lambda: is_true("GraphdDown"))
        self.assertEqual(server.health()[0], 5)

    def test_bad_requests_are_bounded_and_hold_up_nobody(self):
        _, graph = self.server.connect(self)
        ntype = graph.ntypes[0]
        nodes = torch.arange(graph.num_nodes(ntype))
        host, port = self.server.address.split(":")

        def connect():
            connection = socket.create_connection((host, int(port)), timeout=15)
            self.addCleanup(connection.close)
            return connection

        silent = [connect() for _ in range(100)]
        unread = [connect() for _ in range(20)]
        for each in unread:
            each.sendall(b"GET /metrics HTTP/1.1\r\n\r\n" * 50)
        long = connect()
        try:
            long.sendall(b"GET /metrics HTTP/1.1\r\nX: " + b"x" * (1 << 22))
            self.assertNotIn(b" 200 ", long.recv(100))
        except ConnectionError:
            pass  # it was closed while it sent
        start = time.monotonic()
        for _ in range(20):
            self.assertIn("graphd_build_info", scrape(self.server.address))
            graphd.distributed.sample_neighbors(graph, {ntype: nodes}, 2)
        self.assertLess(time.monotonic() - start, 2 * support.slowness())
        # New connections take the place of the oldest ones.
        for each in silent[: len(silent) - MOST_CONNECTIONS]:
            self.assert_closed(each)
        # None stays longer than ten seconds, even if it sends a little now and then.
        slow = connect()
        start = time.monotonic()
        slow.sendall(b"GET /metrics HTTP/1.1\r\n")
        with self.assertRaises(ConnectionError):
            while time.monotonic() - start < 20 * support.slowness():
                slow.sendall(b"X")
                time.sleep(0.1)
        self.assertGreater(time.monotonic() - start, 8)
        for each in silent:
            self.assert_closed(each)

    def assert_closed(self, connection):
        with contextlib.suppress(ConnectionResetError):
            self.assertEqual(connection.recv(1), b"")

    def test_open_metrics_is_served_to_those_who_ask(self):
        _, graph = self.server.connect(self)
        tensor = self.make_tensor(graph, "of_open_metrics")
        self.assertEqual(tensor.shape[1], 4)
        request = urllib.request.Request(
            f"http://{self.server.address}/metrics",
            headers={"Accept": "application/openmetrics-text;version=1.0.0,text/plain;q=0.5"},
        )
        time.sleep(0.15)
        with urllib.request.urlopen(request, timeout=5) as answer:
            self.assertIn("application/openmetrics-text", answer.headers["Content-Type"])
            strict = series(openmetrics.parser, answer.read().decode())
        self.assertGreater(len(strict), 100)
        self.assertEqual(strict, series(prometheus_client.parser, scrape(self.server.address)))

    def test_an_answer_ends_its_connection(self):
        host, port = self.server.address.split(":")
        for method in (b"GET", b"HEAD", b"PUT"):
            with socket.create_connection((host, int(port)), timeout=15) as connection:
                start = time.monotonic()
                connection.sendall(method + b" /metrics HTTP/1.1\r\n\r\n")
                while connection.recv(1 << 16):
                    pass
                self.assertLess(time.monotonic() - start, 1 * support.slowness(), method)

    def test_other_paths_and_methods_are_refused(self):
        for path, data, status in (
            ("/page.html", None, 404),
            ("/etc/passwd", None, 404),
            ("/metrics", b"x", 405),
        ):
            with self.assertRaises(urllib.error.HTTPError) as raised:
                urllib.request.urlopen(f"http://{self.server.address}{path}", data, timeout=5)
            self.assertEqual(raised.exception.code, status)
            raised.exception.close()

    def test_addresses_are_checked_before_the_graph_is_loaded(self):
        def start(*options):
            return subprocess.run(
                [
                    os.path.join(support.BIN, "graphd"),
                    "--server_name",
                    "refused",
                    "--part_config",
                    support.fixture("hetero_1p").config,
                    "--part_id",
                    "0",
                    "--runtime_dir",
                    os.path.join(self.server.daemons.folder, "refused"),
                    *options,
                ],
                capture_output=True,
                text=True,
                timeout=30,
            )

        for options, status, text in (
            (("--metrics", "0.0.0.0:0"), 10, "--metrics_insecure"),
            (("--metrics", self.server.address), 4, "choose another one: with graphd's --metrics"),
            (("--metrics", "127.0.0.1:nothing"), 2, "nothing"),
            (("--metrics_insecure",), 2, "--metrics"),
        ):
            done = start(*options)
            self.assertEqual(done.returncode, status, done.stderr)
            self.assertIn(text, done.stderr)
            self.assertNotIn("partition 0", done.stderr)

    def test_a_stopping_server_closes_its_connections(self):
        server = Server("--metrics_insecure")
        self.addCleanup(server.daemons.stop)
        host, port = server.address.split(":")
        with socket.create_connection((host, int(port)), timeout=15) as silent:
            self.assertIn("graphd_build_info", scrape(server.address))
            start = time.monotonic()
            server.process.terminate()
            self.assertEqual(server.process.wait(timeout=15), 0)
            self.assertLess(time.monotonic() - start, 1 * support.slowness())
            self.assert_closed(silent)


if __name__ == "__main__":
    support.main()
