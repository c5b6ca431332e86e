# SPDX-License-Identifier: Apache-2.0
"""Sessions of Spark, and a standalone cluster on loopback: a master and workers, each a process group of
its own."""

import os
import re
import shutil
import signal
import subprocess
import sys
import time

import pyspark

HOME = os.path.dirname(pyspark.__file__)
SCALA = re.search(r"spark-core_([\d.]+)-", " ".join(os.listdir(f"{HOME}/jars"))).group(1)
# The programs end before compiled code would pay.
JAVA_OPTIONS = ["-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xshare:auto"]


def session(master, folder, **options):
    """Makes this process a driver, which keeps its files in a folder."""
    from pyspark.sql import SparkSession

    os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
    os.environ["PYSPARK_PYTHON"] = sys.executable
    # Executors have other working directories.
    paths = [os.path.abspath(path) for path in os.environ.get("PYTHONPATH", "").split(":") if path]
    settings = {
        "spark.driver.memory": "512m",
        "spark.executor.memory": "512m",
        "spark.executor.memoryOverhead": "128m",
        "spark.driver.extraJavaOptions": " ".join(JAVA_OPTIONS),
        "spark.executor.extraJavaOptions": " ".join(JAVA_OPTIONS),
        "spark.executorEnv.PYTHONPATH": ":".join(paths),
        "spark.local.dir": f"{folder}/local",
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.warehouse.dir": f"{folder}/warehouse",
        # Compiling code for so few rows takes longer than they do.
        "spark.sql.codegen.wholeStage": "false",
        "spark.sql.codegen.factoryMode": "NO_CODEGEN",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        **options,
    }
    builder = SparkSession.builder.master(master).appName("graphd")
    for key, value in settings.items():
        builder = builder.config(key, value)
    made = builder.getOrCreate()
    made.sparkContext.setLogLevel("ERROR")
    return made


class Cluster:
    def __init__(self, folder, workers=2, memory="700m", cores=1):
        self.folder, self.processes = folder, []
        self.java = shutil.which("java") or sys.exit("install openjdk-17-jre-headless")
        log = self._start("master", "org.apache.spark.deploy.master.Master", "--port", "0")
        self.url = self._wait(log, r"Starting Spark master at (spark://\S+)")
        self.workers, logs = [], []
        for i in range(workers):
            options = ["--cores", str(cores), "--memory", memory, "--work-dir", f"{folder}/work{i}"]
            worker = "org.apache.spark.deploy.worker.Worker"
            logs.append(self._start(f"worker{i}", worker, *options, self.url))
            self.workers.append(self.processes[-1])
        for log in logs:
            self._wait(log, "Successfully registered with master")

    def session(self, **options):
        """Connects this process as a driver, with one executor on each worker."""
        return session(self.url, self.folder, **options)

    def kill_worker(self, i):
        """Kills a worker and its executor, as the loss of their machine would."""
        os.killpg(self.workers[i].pid, signal.SIGKILL)
        self.workers[i].wait()

    def stop(self):
        for process in reversed(self.processes):
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()

    def _start(self, name, program, *arguments):
        log = f"{self.folder}/{name}.log"
        options = ["-Xmx256m", *JAVA_OPTIONS]
        host = ["--host", "127.0.0.1", "--webui-port", "0"]
        with open(log, "wb") as out:
            self.processes.append(
                subprocess.Popen(
                    [self.java, *options, "-cp", f"{HOME}/jars/*", program, *host, *arguments],
                    stdout=out,
                    stderr=subprocess.STDOUT,
                    start_new_session=True,
                    cwd=self.folder,
                    env={
                        **os.environ,
                        "SPARK_LOCAL_IP": "127.0.0.1",
                        "SPARK_HOME": HOME,
                        "SPARK_SCALA_VERSION": SCALA,
                    },
                )
            )
        return log

    def _wait(self, log, pattern):
        deadline = time.monotonic() + 180
        while time.monotonic() < deadline:
            with open(log) as file:
                found = re.search(pattern, file.read())
            if found:
                return found.group(found.lastindex or 0)
            if self.processes[-1].poll() is not None:
                break
            time.sleep(0.05)
        with open(log) as file:
            raise RuntimeError(f"no {pattern!r} in {log}:\n{file.read()}")
