# SPDX-License-Identifier: Apache-2.0
"""Compares tensors that trainers make, embeddings and their optimisers with rules in NumPy."""

import itertools

import numpy as np
import torch

import graphd
import support
from graphd.distributed import (
    DistEmbedding,
    DistTensor,
    PartitionPolicy,
    SparseAdagrad,
    SparseAdam,
    SparseSGD,
    init,
)

_names = (f"t{i}" for i in itertools.count())


class Tensors(support.GraphTest):
    def test_rows_are_written_read_and_added_to(self):
        for _ in self.each_way():
            tensor = DistTensor((300, 4), torch.float32, name=next(_names))
            self.assertEqual((tensor.shape, tensor.dtype), ((300, 4), torch.float32))
            self.assertEqual(int(tensor.count_nonzero()), 0)
            rows = torch.randn(3, 4)
            tensor[[299, 0, 150]] = rows
            self.assertTrue(torch.equal(tensor[torch.tensor([0, 150, 299])], rows[[1, 2, 0]]))
            tensor.add(torch.tensor([0, 0]), torch.ones(2, 4))
            self.assertTrue(torch.equal(tensor[0][0], rows[1] + 1 + 1))
            self.assertEqual(tensor.count_nonzero(), 12)
            tensor[10:13] = torch.full((3, 4), 7.0)
            self.assertEqual(tensor[9:14][:, 0].tolist(), [0, 7, 7, 7, 0])
            self.assertEqual(tensor.part_policy.policy_str, "node~user")

    def test_rows_of_another_number_dtype_or_shape_raise_an_error(self):
        g = self.standalone()
        tensor = DistTensor((300, 4), torch.float32)
        for values in (
            torch.ones(2, 4),
            torch.ones(1, 4, dtype=torch.float64),
            torch.ones(4),
            torch.ones(1, 5),
            1.0,
        ):
            with self.assertRaises(graphd.errors.InvalidError, msg=repr(values)):
                tensor[[0]] = values
        feature = g.nodes["user"].data["feat"]
        with self.assertRaises(graphd.errors.InvalidError):
            feature[[0]] = torch.zeros(1, 15)
        self.assertTrue(feature.handle.is_feature)  # nothing was copied

    def test_initial_values(self):
        for _ in self.each_way():
            shapes = []

            def fill(shape, dtype, shapes=shapes):
                shapes.append(shape)
                return torch.arange(shape[0] * 2, dtype=dtype).reshape(shape)

            tensor = DistTensor((60, 2), torch.int64, name=next(_names), init_func=fill)
            self.assertEqual(sum(shape[0] for shape in shapes), 60)
            self.assertEqual(tensor[:1].tolist(), [[0, 1]])
            uniform = DistTensor(
                (300, 8), torch.float32, name=next(_names), init_func=init.Uniform(-2, 3, seed=1)
            )[:]
            self.assertTrue(-2 <= uniform.min() < -1.9 and 2.9 < uniform.max() < 3)
            again = DistTensor(
                (300, 8), torch.float32, name=next(_names), init_func=init.Uniform(-2, 3, seed=1)
            )[:]
            self.assertTrue(torch.equal(uniform, again))
            with self.assertRaises(graphd.errors.InvalidError):
                DistTensor(
                    (60, 2),
                    torch.int64,
                    name=next(_names),
                    init_func=lambda shape, dtype: torch.zeros(shape),
                )

    def test_partition_policies(self):
        g = self.standalone()
        with self.assertRaisesRegex(graphd.errors.InvalidError, "part_policy"):
            DistTensor((17, 2), torch.float32)
        tensor = DistTensor((17, 2), torch.float32, part_policy=PartitionPolicy("range", g))
        self.assertEqual(tensor[:].shape, (17, 2))
        tensor[range(17)] = torch.arange(34.0).reshape(17, 2)
        for found in (tensor, DistTensor.of(tensor.handle, g)):
            policy = found.part_policy
            self.assertEqual(
                (policy.kind, policy.get_size(), policy.get_part_size()), ("range", 17, 8)
            )
            self.assertTrue(torch.equal(found.local_partition, tensor[:8]))
            self.assertEqual(policy.to_partid([0, 7, 8, 16]).tolist(), [0, 0, 1, 1])
            self.assertEqual(policy.to_local([7, 8, 16]).tolist(), [7, 0, 8])
            with self.assertRaisesRegex(graphd.errors.InvalidError, "expected 0 to 16"):
                policy.to_local([17])
        as_many = DistTensor((g.num_nodes("user"),), part_policy=PartitionPolicy("range", g))
        self.assertEqual(DistTensor.of(as_many.handle, g).part_policy.kind, "range")
        with self.assertRaisesRegex(graphd.errors.InvalidError, "tensor.part_policy"):
            PartitionPolicy("range", g).get_size()
        policy = g.get_edge_partition_policy("follows")
        edges = DistTensor((1200,), torch.uint8, part_policy=policy)
        self.assertEqual(edges.part_policy.policy_str, "edge~user:follows:user")
        self.assertEqual(len(edges.local_partition), policy.get_part_size())

    def test_tensors_are_opened_by_name_and_attached_to_the_graph(self):
        for g in self.each_way():
            name = next(_names)
            first = DistTensor((300, 2), torch.float32, name=name)
            first[[5]] = torch.ones(1, 2)
            self.assertEqual(DistTensor((300, 2), torch.float32, name=name)[5].tolist(), [[1, 1]])
            self.assertEqual(DistTensor.open(g, name)[5].tolist(), [[1, 1]])
            with self.assertRaises(graphd.errors.InvalidError):
                DistTensor((300, 3), torch.float32, name=name)
            g.nodes["user"].data["mine"] = first
            self.assertEqual(g.nodes["user"].data["mine"][5].tolist(), [[1, 1]])
            del g.nodes["user"].data["mine"]
            self.assertNotIn("mine", g.nodes["user"].data)
            self.assertIn(name, [entry["name"] for entry in DistTensor.list(g)])
            DistTensor.drop(g, name)
            with self.assertRaises(graphd.errors.NotFoundError):
                DistTensor.open(g, name)

    def test_a_union_of_masks(self):
        _g = self.standalone()  # the graph of the tensors
        masks = [DistTensor((300,), torch.bool) for _ in range(2)]
        masks[0][[1, 2]] = torch.tensor([True, True])
        masks[1][[2, 3]] = torch.tensor([True, True])
        self.assertEqual((masks[0] | masks[1])[:].nonzero().flatten().tolist(), [1, 2, 3])


class Embeddings(support.GraphTest):
    def step(self, optimizer, embedding, ids, gradients):
        rows = embedding(ids)
        self.assertTrue(rows.requires_grad)
        (rows * gradients).sum().backward()
        optimizer.step()

    def test_adagrad_follows_its_rule(self):
        for _ in self.each_way():
            emb = DistEmbedding(300, 4, name=next(_names), init_func=init.Uniform(-1, 1))
            optimizer = SparseAdagrad([emb], lr=0.1)
            w = emb.weight[:].double().numpy()
            state = np.zeros_like(w)
            for _ in range(3):
                ids = torch.tensor([7, 3, 7, 250])
                gradients = torch.randn(4, 4)
                self.step(optimizer, emb, ids, gradients)
                mean = gradients.double().numpy()
                for row, grad in ((7, (mean[0] + mean[2]) / 2), (3, mean[1]), (250, mean[3])):
                    state[row] += grad**2
                    w[row] -= 0.1 * grad / (np.sqrt(state[row]) + 1e-10)
            np.testing.assert_allclose(emb.weight[:].numpy(), w, atol=1e-5)

    def test_adam_and_sgd_follow_their_rules(self):
        _g = self.standalone()  # the graph of the tensors
        gradients = torch.randn(2, 4)
        ids = torch.tensor([1, 2])
        adam = DistEmbedding(300, 4)
        self.step(SparseAdam([adam], lr=0.1), adam, ids, gradients)
        np.testing.assert_allclose(
            adam.weight[[1, 2]].numpy(),
            -0.1 * gradients.numpy() / (np.abs(gradients.numpy()) + 1e-8),
            rtol=1e-4,
        )
        sgd = DistEmbedding(300, 4)
        optimizer = SparseSGD([sgd], lr=0.5)
        self.step(optimizer, sgd, ids, gradients)
        np.testing.assert_allclose(sgd.weight[[1, 2]].numpy(), -0.5 * gradients.numpy(), rtol=1e-6)
        optimizer.lr = 0.0
        before = sgd.weight[:]
        self.step(optimizer, sgd, ids, gradients)
        self.assertTrue(torch.equal(sgd.weight[:], before))

    def test_a_step_discards_gradients_and_no_grad_records_none(self):
        _g = self.standalone()  # the graph of the tensors
        emb = DistEmbedding(300, 4, init_func=init.Constant(1))
        optimizer = SparseSGD([emb], lr=1.0)
        with torch.no_grad():
            self.assertFalse(emb(torch.tensor([1])).requires_grad)
        emb(torch.tensor([1])).sum().backward()
        self.assertEqual(emb.handle.pending_rows, 1)
        optimizer.zero_grad()
        optimizer.step()
        self.assertEqual(emb.weight[1].tolist(), [[1, 1, 1, 1]])
        emb(torch.tensor([1])).sum().backward()
        optimizer.step()
        optimizer.step()
        self.assertEqual(emb.weight[1].tolist(), [[0, 0, 0, 0]])

    def test_the_optimizer_keeps_its_embeddings(self):
        _g = self.standalone()  # the graph of the tensors
        optimizer = SparseSGD([DistEmbedding(300, 4)], lr=1.0)
        optimizer.step()
        with self.assertRaises(graphd.errors.InvalidError):
            SparseSGD([torch.zeros(3)], lr=1.0)

    def test_it_learns(self):
        _g = self.standalone()  # the graph of the tensors
        emb = DistEmbedding(300, 8, init_func=init.Uniform(-1, 1, seed=2))
        optimizer = SparseAdagrad([emb], lr=0.5)
        wanted = torch.randn(300, 8)
        for _ in range(60):
            ids = torch.randint(300, (100,))
            ((emb(ids) - wanted[ids]) ** 2).sum().backward()
            optimizer.step()
        self.assertLess(float((emb.weight[:] - wanted).abs().mean()), 0.05)


if __name__ == "__main__":
    support.main()
