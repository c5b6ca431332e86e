# SPDX-License-Identifier: Apache-2.0
"""Compares inference over all nodes with the same models computed over the whole graph, and checks
what is done with the outputs."""

import math

import numpy as np
import torch

import graphd
import inference_model as models
import support
from graphd import inference
from graphd.distributed import DistTensor, init


def accuracy(g, outputs, mask):
    """Returns the fraction of right outputs in a mask."""
    right = outputs.argmax(1) == g.ndata["label"][:]
    return float(right[g.ndata[mask][:].bool()].float().mean())


class Homogeneous(support.GraphTest):
    fixture = "sbm_2p_metis"

    def layers(self, g):
        return models.sage(g.ndata["feat"].shape[1], 8, 4)

    def expected(self, g):
        return models.sage_forward(g, self.layers(g), g.ndata["feat"][:])

    def close(self, found, expected):
        torch.testing.assert_close(found, expected, rtol=1e-5, atol=1e-5)

    def test_outputs_equal_those_of_the_whole_graph(self):
        for g in self.each_way():
            out = inference.layerwise(g, self.layers(g), "feat", batch_size=128, num_workers=2)
            self.assertEqual((out.name, out.shape), ("inference", (g.num_nodes(), 4)))
            self.close(out[:], self.expected(g))
            # The tensors of the layers before are gone.
            names = {each["name"] for each in DistTensor.list(g)}
            self.assertEqual(
                {name for name in names if name.startswith("inference")},
                {"inference", "inference:run"},
            )

    def test_inputs_are_names_tensors_embeddings_or_functions(self):
        g = self.standalone()
        feat, expected = g.ndata["feat"], self.expected(g)
        copy = graphd.distributed.DistEmbedding(
            len(feat), feat.shape[1], init_func=init.Constant(0)
        )
        copy.weight[:] = feat[:]
        for features in (feat, copy, feat[:].__getitem__):
            out = inference.layerwise(g, self.layers(g), features)
            self.close(out[:], expected)

    def test_a_mask_limits_the_last_layer(self):
        g = self.standalone()
        expected, mask = self.expected(g), g.ndata["test_mask"][:].bool()
        for nodes in (g.ndata["test_mask"], mask):
            done = []
            out = inference.layerwise(
                g,
                self.layers(g),
                "feat",
                nodes=nodes,
                batch_size=100,
                progress=lambda *of, done=done: done.append(of),
            )
            self.close(out[:][mask], expected[mask])
            self.assertEqual(int(out[:][~mask].count_nonzero()), 0)
            total = 15 + -(-int(mask.sum()) // 100)
            self.assertEqual(done, [(i + 1, total) for i in range(total)])

    def test_a_run_of_many_layers_goes_on_at_the_twelfth(self):
        g = self.standalone()
        calls = []

        def layer(block, h):
            calls.append(block)
            if len(calls) == 12:
                raise ArithmeticError
            return h[: block.num_dst_nodes()] + 1

        # Layer 10 is needed then, though layer 1, with which its name begins, is not.
        options = dict(name="deep", batch_size=g.num_nodes(), resume=True, fanouts=[1] * 13)
        with self.assertRaises(ArithmeticError):
            inference.layerwise(g, [layer] * 13, "feat", **options)
        out = inference.layerwise(g, [layer] * 13, "feat", **options)
        self.assertEqual(len(calls), 12 + 2)
        torch.testing.assert_close(out[:], g.ndata["feat"][:] + 13)

    def test_a_result_is_replaced_but_no_other_tensor(self):
        g = self.standalone()
        first = inference.layerwise(g, self.layers(g)[:1], "feat", name="mine")
        self.assertEqual(first.shape[1], 8)
        second = inference.layerwise(g, self.layers(g), "feat", name="mine")
        self.close(second[:], self.expected(g))
        DistTensor((g.num_nodes(),), name="theirs", part_policy=g.get_node_partition_policy())
        with self.assertRaisesRegex(graphd.errors.ExistsError, "another name"):
            inference.layerwise(g, self.layers(g), "feat", name="theirs")
        self.assertEqual(DistTensor.open(g, "theirs").shape, (g.num_nodes(),))

    def test_numpy_can_stand_in_for_torch(self):
        graphd.use("numpy")
        self.addCleanup(graphd.use, "torch")
        g = self.standalone()
        u, v = g.find_edges(np.arange(g.num_edges()))

        def total(num_dst, u, v, h):
            out = np.zeros((num_dst, h.shape[1]), np.float32)
            np.add.at(out, v, h[u])
            return out

        def layer(block, h):
            return total(block.num_dst_nodes(), *block.edges(), h)

        out = inference.layerwise(g, [layer, layer], "feat", batch_size=200)
        expected = g.ndata["feat"][:]
        for _ in range(2):
            expected = total(g.num_nodes(), u, v, expected)
        np.testing.assert_allclose(out[:], expected, rtol=1e-4)
        self.assertEqual(
            inference.evaluate(g, out, ["val_mask"])["val_mask"],
            (out[:].argmax(1) == g.ndata["label"][:])[g.ndata["val_mask"][:].astype(bool)].mean(),
        )

    def test_mistakes_are_reported(self):
        g = self.standalone()
        layers = self.layers(g)
        for wrong, message in (
            (dict(layers=[]), "expected a list of functions"),
            (dict(layers=layers[0]), "expected a list of functions"),
            (dict(progress=True), "progress"),
            (dict(layers=[1]), r"layers\[0\]"),
            (dict(layers=models.sage(3, 4, 5).train()), r"model.eval\(\)"),
            (dict(layers=[lambda block, h: h]), "block's destinations"),
            (dict(layers=[lambda block, h: None]), "NoneType"),
            (dict(features="fear"), "fear"),
            (dict(features=5), "expected the name of a feature"),
            (dict(fanouts=[3]), "each of 2 layers"),
            (dict(batch_size=0), "batch_size"),
            (dict(nodes={"_N": "all"}), "nodes"),
            (dict(seed=1 << 63), "seed"),
        ):
            with self.subTest(message), self.assertRaisesRegex(graphd.GraphdError, message):
                inference.layerwise(g, **{"layers": layers, "features": "feat", **wrong})

    def test_the_largest_seed_samples_in_every_layer(self):
        g = self.standalone()
        options = dict(fanouts=[2, 2], seed=(1 << 63) - 1)
        first, again = (
            inference.layerwise(g, self.layers(g), "feat", name=name, **options)[:] for name in "ab"
        )
        self.assertTrue(torch.equal(first, again))

    def test_defaults_for_vectors_refuse_numbers(self):
        g = self.standalone()
        numbers = DistTensor((g.num_nodes(),), part_policy=g.get_node_partition_policy())
        with self.assertRaisesRegex(graphd.errors.InvalidError, "two dimensions.*correct="):
            inference.evaluate(g, numbers, ["val_mask"])
        with self.assertRaisesRegex(graphd.errors.InvalidError, "two dimensions.*scorer"):
            inference.predict_edges(g, numbers, [0, 1], [1, 2])
        found = inference.evaluate(
            g, numbers, ["val_mask"], correct=lambda out, labels: (out == 0).sum()
        )
        self.assertEqual(found, {"val_mask": 1})
        product = inference.predict_edges(g, numbers, [0, 1], [1, 2], lambda a, b: a * b)
        self.assertEqual(product.tolist(), [0, 0])

    def test_an_error_of_a_layer_reaches_the_caller(self):
        g = self.standalone()

        def fails(block, h):
            raise ArithmeticError("of the layer")

        with self.assertRaisesRegex(ArithmeticError, "of the layer"):
            inference.layerwise(g, [fails], "feat", num_workers=1)

    def test_accuracies(self):
        g = self.standalone()
        labels = g.ndata["label"][:].long()
        policy = g.get_node_partition_policy()
        outputs = DistTensor((g.num_nodes(), int(labels.max()) + 1), part_policy=policy)
        outputs[:] = torch.nn.functional.one_hot((labels + 1) % (labels.max() + 1)).float()
        self.assertEqual(inference.evaluate(g, outputs), {"val_mask": 0, "test_mask": 0})
        some = torch.arange(0, g.num_nodes(), 3)
        outputs[some] = torch.nn.functional.one_hot(labels)[some].float()
        found = inference.evaluate(g, outputs, ["train_mask"], batch_size=100)
        self.assertAlmostEqual(found["train_mask"], accuracy(g, outputs[:], "train_mask"), 6)
        self.assertGreater(found["train_mask"], 0.2)
        # Each output is right in a count that takes all of them.
        every = inference.evaluate(
            g, outputs, ["val_mask"], correct=lambda out, labels: len(out), batch_size=64
        )
        self.assertEqual(every, {"val_mask": 1})
        empty = DistTensor((g.num_nodes(),), torch.uint8, part_policy=policy)
        g.ndata["nobody"] = empty
        with self.assertRaisesRegex(graphd.errors.InvalidError, r"\[\] around it"):
            inference.evaluate(g, outputs, "val_mask")
        with self.assertRaises(graphd.errors.NotFoundError):
            inference.evaluate(g, outputs, ["no_mask"])
        self.assertTrue(math.isnan(inference.evaluate(g, outputs, ["nobody"])["nobody"]))

    def test_scores_of_pairs(self):
        for g in self.each_way():
            rows = torch.randn(g.num_nodes(), 5)
            embeddings = DistTensor(rows.shape, part_policy=g.get_node_partition_policy())
            embeddings[:] = rows
            u, v = torch.randint(g.num_nodes(), (2, 333))
            found = inference.predict_edges(g, embeddings, u, v, batch_size=100, num_workers=2)
            torch.testing.assert_close(found, (rows[u] * rows[v]).sum(1))
            found = inference.predict_edges(
                g, embeddings, u.tolist(), v.numpy(), lambda a, b: torch.cat([a, b], 1)
            )
            self.assertTrue(torch.equal(found, torch.cat([rows[u], rows[v]], 1)))
            self.assertEqual(inference.predict_edges(g, embeddings, [], []).shape, (0,))
            with self.assertRaises(graphd.errors.OutOfRangeError):
                inference.predict_edges(g, embeddings, [0], [g.num_nodes()])
            with self.assertRaisesRegex(graphd.errors.InvalidError, "float64, expected int64"):
                inference.predict_edges(g, embeddings, [0.5], [1])
            with self.assertRaisesRegex(graphd.errors.InvalidError, "per pair"):
                inference.predict_edges(g, embeddings, [0], [1, 2])


class Weighted(support.GraphTest):
    fixture = "weighted_2p"

    def test_edge_features_come_with_the_blocks(self):
        for g in self.each_way():
            weight = g.edata["prob"][:].float().reshape(-1)
            _, v = models.edges_of(g)
            expected = torch.zeros(g.num_nodes()).index_add(0, v, weight)

            def weights(block, h):
                of = block.edata["prob"].float().reshape(-1)
                return torch.zeros(block.num_dst_nodes()).index_add(0, block.edges()[1], of)

            out = inference.layerwise(
                g,
                [weights],
                lambda ids: torch.zeros(len(ids)),
                edge_features=["prob"],
                batch_size=64,
            )
            self.assertEqual(out.shape, (g.num_nodes(),))
            torch.testing.assert_close(out[:], expected)


class Typed(support.GraphTest):
    def test_outputs_equal_those_of_the_whole_graph(self):
        for g in self.each_way():
            rows, layers = models.typed_inputs(g), models.rgcn(g, 6, 5, 3)
            features = {ntype: some.__getitem__ for ntype, some in rows.items()}
            out = inference.layerwise(g, layers, features, batch_size=50, num_workers=1)
            expected = models.rgcn_forward(g, layers, rows)
            self.assertEqual(list(out), g.ntypes)
            for ntype in g.ntypes:
                self.assertEqual(out[ntype].name, f"inference/{ntype}")
                torch.testing.assert_close(out[ntype][:], expected[ntype], rtol=1e-5, atol=1e-5)

    def test_the_last_layer_may_have_outputs_of_one_type(self):
        g = self.standalone()
        rows, layers = models.typed_inputs(g), models.rgcn(g, 6, 5, 3)
        features = {ntype: some.__getitem__ for ntype, some in rows.items()}
        expected = models.rgcn_forward(g, layers, rows)["post"]
        mask = torch.arange(g.num_nodes("post")) % 3 == 0
        post = [layers[0], lambda block, h: {"post": layers[1](block, h)["post"]}]
        for last, nodes, kept in (
            (post, None, torch.ones_like(mask)),
            (layers, {"post": mask}, mask),
        ):
            out = inference.layerwise(g, last, features, batch_size=50, nodes=nodes)
            self.assertEqual(list(out), ["post"])
            torch.testing.assert_close(out["post"][:][kept], expected[kept], rtol=1e-5, atol=1e-5)
            self.assertEqual(int(out["post"][:][~kept].count_nonzero()), 0)
        with self.assertRaisesRegex(graphd.errors.InvalidError, "dict by node type"):
            inference.layerwise(g, [lambda block, h: h["post"]], features)

    def test_scores_of_pairs_of_two_types(self):
        g = self.standalone()
        rows, embeddings = models.typed_inputs(g), {}
        src, relation, dst = next(each for each in g.canonical_etypes if each[0] != each[2])
        for ntype in (src, dst):
            policy = g.get_node_partition_policy(ntype)
            embeddings[ntype] = DistTensor(rows[ntype].shape, part_policy=policy)
            embeddings[ntype][:] = rows[ntype]
        u, v = np.array([3, 1, 2]), np.array([0, 5, 9])
        found = inference.predict_edges(g, embeddings, u, v, etype=(src, relation, dst))
        torch.testing.assert_close(found, (rows[src][u] * rows[dst][v]).sum(1))
        del embeddings[dst]
        with self.assertRaisesRegex(graphd.errors.InvalidError, dst):
            inference.predict_edges(g, embeddings, u, v, etype=(src, relation, dst))


if __name__ == "__main__":
    support.main()
