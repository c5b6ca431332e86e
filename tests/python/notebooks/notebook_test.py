# SPDX-License-Identifier: Apache-2.0
"""Runs docs/tutorial.ipynb, and checks its results and pictures."""

import base64
import glob
import io
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

import nbclient
import nbformat
from matplotlib import image

import support

NOTEBOOK = os.path.join(
    os.path.dirname(os.path.abspath(__file__)), "..", "..", "..", "docs", "tutorial.ipynb"
)


def prepare(folder):
    """Makes a kernel of this interpreter, which need not be that of the system's kernel."""
    kernel = os.path.join(folder, "kernels", "graphd_test")
    os.makedirs(kernel)
    argv = [sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}"]
    with open(os.path.join(kernel, "kernel.json"), "w") as file:
        json.dump({"argv": argv, "display_name": "test", "language": "python"}, file)
    os.environ.update(
        GRAPHD_RUNTIME_DIR=os.path.join(folder, "run"),
        GRAPHD_STATE_DIR=os.path.join(folder, "state"),
        HOME=folder,
        JUPYTER_PATH=folder,
        PATH=f"{support.BIN}:{os.environ['PATH']}",
        PYDEVD_DISABLE_FILE_VALIDATION="1",  # the debugger of the kernel would print a warning
        TMPDIR=folder,
    )


def execute(notebook, folder):
    nbclient.NotebookClient(notebook, timeout=100, kernel_name="graphd_test").execute(cwd=folder)


def outputs(notebook):
    return [output for cell in notebook.cells for output in cell.get("outputs", [])]


def text(notebook, stream="stdout"):
    """Returns what the cells print."""
    return "".join(each.text for each in outputs(notebook) if each.get("name") == stream)


class Notebook(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.mkdtemp(prefix="graphd-notebook-test-")
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        prepare(cls.folder)
        cls.addClassCleanup(cls.stop)
        cls.executed = nbformat.read(NOTEBOOK, as_version=4)
        execute(cls.executed, cls.folder)

    @classmethod
    def stop(cls):
        """Stops the servers of a notebook that has failed half-way."""
        for ip_config in glob.glob(os.path.join(cls.folder, "graphd-notebook-*", "ip_config.txt")):
            stop = ["graphctl", "server", "stop", "--server_name", "mine", "--force"]
            subprocess.run([*stop, "--ip_config", ip_config], capture_output=True, timeout=30)

    def test_it_trains_and_keeps_the_results(self):
        printed = text(self.executed)
        accuracies = re.search(
            r"accuracy of the stored scores: (0\.\d+), of the stored model: (0\.\d+)", printed
        )
        self.assertIsNotNone(accuracies, printed)
        for accuracy in accuracies.groups():
            self.assertGreater(float(accuracy), 0.85)

    def test_two_sessions_are_attached_until_the_servers_are_stopped(self):
        printed = text(self.executed)
        jobs = re.findall(r"job (\S+), .* 1 of 1 trainers attached", printed)
        self.assertEqual((len(jobs), len(set(jobs))), (4, 2), printed)
        self.assertEqual(len(re.findall(r": stopped$", printed, re.MULTILINE)), 2, printed)

    def test_graphs_and_histories_are_shown_as_html(self):
        shown = "".join(
            each.get("data", {}).get("text/html", "") for each in outputs(self.executed)
        )
        self.assertIn("DistGraph &#x27;mine&#x27;, 2 partitions", shown)
        self.assertIn("History, 8 records", shown)
        self.assertIn("<polyline", shown)

    def test_there_are_three_pictures(self):
        pictures = [
            image.imread(io.BytesIO(base64.b64decode(output.data["image/png"])))
            for output in outputs(self.executed)
            if "image/png" in output.get("data", {})
        ]
        self.assertEqual(len(pictures), 3)
        for picture in pictures:
            self.assertGreater(picture.shape[1], 300)
            self.assertGreater(picture[..., :3].std(), 0.05, "the picture is empty")

    def test_the_file_has_no_outputs(self):
        for cell in nbformat.read(NOTEBOOK, as_version=4).cells:
            self.assertEqual(cell.get("outputs", []), [])
            self.assertIsNone(cell.get("execution_count"))

    def test_notebooks_show_progress(self):
        code = "from graphd import progress\nprogress._SECONDS = 0\n"
        steps = "list(progress.bar(range(5), 'quick steps'))"
        cells = [code + steps, f"%env GRAPHD_PROGRESS=0\n{steps.replace('quick', 'silent')}"]
        notebook = nbformat.v4.new_notebook(cells=list(map(nbformat.v4.new_code_cell, cells)))
        execute(notebook, self.folder)
        shown = json.dumps(outputs(notebook))  # text, or a widget where there is ipywidgets
        self.assertIn("quick steps", shown)
        self.assertNotIn("silent steps", shown)
        self.assertNotIn("Warning", text(notebook, "stderr"))


if __name__ == "__main__":
    support.main()
