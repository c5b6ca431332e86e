# SPDX-License-Identifier: Apache-2.0
"""Runs a real Prometheus that scrapes servers of graphd, with the alert rules of the package."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.parse
import urllib.request

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "..", "tools"))
from free_ports import free_ports  # noqa: E402

RULES = os.path.join(HERE, "..", "..", "..", "packaging", "prometheus", "graphd.rules.yml")
# The cases of these rules, for promtool.
ALERT_CASES = os.path.join(HERE, "alert_cases.yml")
DEADLINE = 25  # seconds until a wait fails


def wait_for(what, condition):
    """Returns the first true value of condition()."""
    end = time.monotonic() + DEADLINE
    while time.monotonic() < end:
        value = condition()
        if value:
            return value
        time.sleep(0.05)
    raise AssertionError(f"waited {DEADLINE} s for {what}")


class Prometheus:
    """A Prometheus that scrapes the addresses once a second."""

    def __init__(self, addresses):
        self.folder = tempfile.mkdtemp(prefix="graphd-prometheus-")
        shutil.copy(RULES, self.folder)
        config = os.path.join(self.folder, "prometheus.yml")
        with open(config, "w") as file:
            json.dump(  # JSON is YAML
                {
                    "global": {"scrape_interval": "1s", "evaluation_interval": "1s"},
                    "rule_files": [os.path.basename(RULES)],
                    "scrape_configs": [
                        {"job_name": "graphd", "static_configs": [{"targets": list(addresses)}]}
                    ],
                },
                file,
            )
        (port,) = free_ports(1)
        self.url = f"http://127.0.0.1:{port}/api/v1/"
        self.log = os.path.join(self.folder, "log")
        with open(self.log, "w") as log:
            self.process = subprocess.Popen(
                [
                    "prometheus",
                    f"--config.file={config}",
                    f"--storage.tsdb.path={self.folder}/data",
                    f"--web.listen-address=127.0.0.1:{port}",
                    "--log.level=warn",
                ],
                stdout=log,
                stderr=log,
            )
        try:
            wait_for("Prometheus to scrape", lambda: self.scrapes(len(addresses)))
        except BaseException:
            self.stop()
            raise

    def scrapes(self, servers):
        if self.process.poll() is not None:
            with open(self.log) as log:
                raise AssertionError(f"Prometheus has ended:\n{log.read()}")
        try:
            return len(self.query('up{job="graphd"} == 1')) == servers
        except OSError:
            return False

    def get(self, path, **arguments):
        """Returns the data of an answer of the API; raises AssertionError for one that fails."""
        url = self.url + path + "?" + urllib.parse.urlencode(arguments)
        try:
            with urllib.request.urlopen(url, timeout=DEADLINE) as answer:
                return json.load(answer)["data"]
        except urllib.error.HTTPError as error:
            if error.code == 503:  # it has not started yet
                raise
            raise AssertionError(f"{path} {arguments}: {error.read().decode()}") from None

    def query(self, expression):
        """Returns the samples of an instant query as [(labels, value)]."""
        found = self.get("query", query=expression)["result"]
        return [(each["metric"], float(each["value"][1])) for each in found]

    def value(self, expression):
        """Returns the value of an expression with one sample; None if it has no sample."""
        found = self.query(expression)
        assert len(found) <= 1, (expression, found)
        return found[0][1] if found else None

    def stop(self):
        self.process.terminate()
        self.process.wait(timeout=DEADLINE)
        shutil.rmtree(self.folder)
