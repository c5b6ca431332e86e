# SPDX-License-Identifier: Apache-2.0
"""Tests what the history of a training run keeps, even when the run is killed."""

import math
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest
from xml.etree import ElementTree

import numpy
import torch

import graphd
import support
from html_cells import Cells

TRAINING = """
import sys, graphd
history = graphd.History(sys.argv[1])
for epoch in range(len(history), 1000000):
    history.record(epoch=epoch, loss=1 / (epoch + 1))
    print(epoch, flush=True)
"""


class Records(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="graphd-history-")
        self.addCleanup(shutil.rmtree, self.folder)
        self.path = os.path.join(self.folder, "history.jsonl")

    def test_records_are_rows_and_columns(self):
        history = graphd.History()
        history.record(epoch=0, loss=1.5, note="warm-up")
        history.record(epoch=1, loss=torch.tensor(0.5), accuracy=numpy.float32(0.25))
        self.assertEqual(len(history), 2)
        self.assertEqual(history.names, ["epoch", "loss", "note", "accuracy"])
        self.assertEqual(history["accuracy"], [None, 0.25])
        self.assertEqual(history[-1], {"epoch": 1, "loss": 0.5, "accuracy": 0.25})
        self.assertEqual([record["loss"] for record in history], [1.5, 0.5])
        columns = {
            "epoch": [0, 1],
            "loss": [1.5, 0.5],
            "note": ["warm-up", None],
            "accuracy": [None, 0.25],
        }
        self.assertEqual(history.to_dict(), columns)
        frame = history.to_pandas()
        self.assertEqual(list(frame.columns), history.names)
        self.assertEqual(frame["loss"].tolist(), [1.5, 0.5])
        self.assertTrue(math.isnan(frame["accuracy"][0]))
        self.assertEqual(
            repr(history), "History(2 records, the last: epoch=1, loss=0.5, accuracy=0.25)"
        )
        self.assertEqual(repr(graphd.History()), "History(0 records)")

    def test_a_record_that_was_handed_out_does_not_change_the_history(self):
        history = graphd.History()
        history.record(loss=1.0)
        history[0]["loss"] = 7
        next(iter(history))["loss"] = 7
        self.assertEqual(history["loss"], [1.0])

    def test_other_values_are_refused(self):
        history = graphd.History(self.path)
        for values in ({}, {"loss": [1, 2]}, {"loss": torch.ones(2)}, {"loss": torch.ones(0)}):
            with self.subTest(values), self.assertRaises(graphd.errors.InvalidError):
                history.record(**values)
        self.assertEqual(len(history), 0)
        self.assertFalse(os.path.exists(self.path))
        with self.assertRaisesRegex(KeyError, "no values 'lss'; there are"):
            history["lss"]

    def test_a_refused_tensor_is_described(self):
        for values, message in (
            (torch.ones(2), r"'loss' is a Tensor of the shape \(2,\)"),
            (numpy.ones((2, 3)), r"'loss' is a ndarray of the shape \(2, 3\)"),
            ([1], "'loss' is a list; expected"),
        ):
            with self.assertRaisesRegex(graphd.errors.InvalidError, message):
                graphd.History().record(loss=values)

    def test_long_histories_are_drawn_quickly_with_their_peaks(self):
        history = graphd.History()
        for step in range(20_000):
            history.record(step=step, loss=9.0 if step == 7_777 else 1.0)
        begin = time.monotonic()
        shown = history._repr_html_()
        self.assertLess(time.monotonic() - begin, 2 * support.slowness())
        (curve,) = ElementTree.fromstring(f"<p>{shown}</p>").iter("polyline")
        points = curve.get("points").split()
        self.assertLess(len(points), 500)
        self.assertEqual([each for each in points if each.endswith(",6.0")], ["79.1,6.0"])
        self.assertEqual(points[-1], "194.0,54.0")

    def test_a_saved_history_can_be_loaded(self):
        history = graphd.History()
        history.record(epoch=0, loss=math.inf, good=True)
        history.record(epoch=1, loss=0.1, note="the end\n")
        for _ in range(2):  # the second time it replaces the file
            history.save(self.path)
        loaded = graphd.History.load(self.path)
        self.assertEqual(list(loaded), list(history))
        loaded.record(epoch=2)
        self.assertEqual(len(graphd.History.load(self.path)), 2)
        self.assertEqual(os.listdir(self.folder), ["history.jsonl"])

    def test_a_killed_run_keeps_its_records_and_continues(self):
        for first in (0, 20):
            process = subprocess.Popen(
                [sys.executable, "-c", TRAINING, self.path], stdout=subprocess.PIPE, text=True
            )
            printed = [int(process.stdout.readline()) for _ in range(20)]
            process.send_signal(signal.SIGKILL)
            process.wait(timeout=30)
            process.stdout.close()
            epochs = graphd.History.load(self.path)["epoch"]
            self.assertEqual(epochs, list(range(len(epochs))))
            self.assertGreater(len(epochs), printed[-1])
            self.assertGreaterEqual(printed[0], first)

    def test_an_unfinished_line_is_dropped(self):
        history = graphd.History(self.path)
        history.record(epoch=0, loss=1.0)
        history.record(epoch=1, loss=0.5)
        size = os.path.getsize(self.path)
        os.truncate(self.path, size - 3)
        self.assertEqual(graphd.History.load(self.path)["epoch"], [0])
        self.assertEqual(os.path.getsize(self.path), size - 3)  # reading changes nothing
        continued = graphd.History(self.path)
        continued.record(epoch=1, loss=0.25)
        self.assertEqual(graphd.History.load(self.path)["loss"], [1.0, 0.25])

    def test_a_last_line_without_its_end_is_a_record(self):
        with open(self.path, "w") as file:
            file.write('{"loss": 2}\n{"loss": 1}')
        history = graphd.History(self.path)
        history.record(loss=0.5)
        self.assertEqual(graphd.History.load(self.path)["loss"], [2, 1, 0.5])

    def test_other_files_are_refused_and_left_as_they_are(self):
        for content in ("[1]\n", "no end", "[1]", "loss 0.5\n", '{"loss": [1]}\n', "\xff\n"):
            with open(self.path, "w", encoding="latin-1") as file:
                file.write('{"loss": 1}\n' + content)
            for read in (graphd.History, graphd.History.load):
                with (
                    self.subTest(content),
                    self.assertRaisesRegex(
                        graphd.errors.InvalidError, r"history\.jsonl:2: expected a record"
                    ),
                ):
                    read(self.path)
            with open(self.path, encoding="latin-1") as file:
                self.assertEqual(file.read(), '{"loss": 1}\n' + content)

    def test_curves_have_the_epochs_and_finite_numbers(self):
        history = graphd.History()
        history.record(epoch=3, loss=2.0, note="a", good=True)
        history.record(epoch=4, loss=math.nan)
        history.record(epoch=5, loss=1)
        self.assertEqual(history.axis, "epoch")
        self.assertEqual(history.curves(), {"loss": ([3.0, 5.0], [2.0, 1.0])})
        numbered = graphd.History()
        numbered.record(loss=2.0)
        numbered.record(loss=1.0)
        self.assertEqual((numbered.axis, numbered.curves()), (None, {"loss": ([0, 1], [2, 1])}))

    def test_a_notebook_shows_the_last_records_and_curves(self):
        history = graphd.History()
        self.assertIn("0 records", history._repr_html_())
        for epoch in range(12):
            history.record(epoch=epoch, loss=1 / (epoch + 1), **{"<b>": 1.0})
        shown = history._repr_html_()
        rows = Cells(shown[shown.index("<table") :]).rows
        self.assertEqual(rows[0], ["History, 12 records, the last 10"])
        self.assertEqual(rows[1], ["epoch", "loss", "<b>"])
        self.assertEqual(rows[2], ["2", "0.3333", "1"])
        self.assertEqual((len(rows), rows[-1]), (12, ["11", "0.08333", "1"]))
        self.assertNotIn("<b>", shown)
        curves = ElementTree.fromstring(f"<p>{shown}</p>").iter("polyline")
        loss, constant = (each.get("points").split() for each in curves)
        self.assertEqual((len(loss), len(set(loss))), (12, 12))
        self.assertEqual({point.split(",")[1] for point in constant}, {"30.0"})


if __name__ == "__main__":
    support.main()
