# SPDX-License-Identifier: Apache-2.0
"""Tests that graphctl top shows the load that trainers cause."""

import json
import os
import subprocess
import threading

import torch

import support
from graphd.distributed import DistTensor, sample_neighbors


class Top(support.GraphTest):
    fixture = "sbm_2p_metis"

    def test_rates(self):
        g = self.served("tcp")
        tensor = DistTensor((g.num_nodes(), 4), torch.float32, name="written")
        nodes, done = torch.arange(g.num_nodes()), threading.Event()

        def work():
            while not done.is_set():
                g.ndata["feat"][nodes]
                sample_neighbors(g, nodes, 3)
                tensor[nodes] = torch.ones(len(nodes), 4)

        worker = threading.Thread(target=work)
        worker.start()
        try:
            shown = subprocess.run(
                [
                    os.path.join(support.BIN, "graphctl"),
                    "top",
                    "--once",
                    "--json",
                    "--interval",
                    "0.5",
                    "--server_name",
                    self.daemons().server_name,
                    "--ip_config",
                    self.daemons().ip_config,
                ],
                env=self.daemons().environment(),
                check=True,
                capture_output=True,
                text=True,
                timeout=60,
            ).stdout
        finally:
            done.set()
            worker.join()
        machines = json.loads(shown)
        self.assertEqual(len(machines), 2)
        for machine in machines:
            self.assertEqual((machine["jobs"], machine["trainers"]), (1, 1))
            self.assertGreater(machine["tensor_bytes"], 4 * g.num_nodes())
            for name in ("requests", "rows", "edges", "pushes", "bytes_sent"):
                self.assertGreater(machine[name], 0, name)


if __name__ == "__main__":
    support.main()
