# SPDX-License-Identifier: Apache-2.0
"""Checks partitions in DGL's format against the graph that was partitioned.

The graph is described in the format of dgl_write_sample:

    {"graph_name": "g", "num_parts": 2, "num_hops": 1, "formats": "coo,csc" or "",
     "nodes": [{"type": "a", "count": 3, "features": [FEATURE, ...]}, ...],
     "edges": [{"type": ["a", "to", "b"], "src": [...], "dst": [...], "add_reverse": false,
                "features": [FEATURE, ...]}, ...],
     "owners": [[partition of each node] for each node type]}     (absent: taken from the files)
    FEATURE = {"name": "x", "dtype": "float32", "row_shape": [2], "hex": "bytes of all rows"}
"""
import itertools
import json
import os
import random

import dgl_files


def require(condition, *what):
    if not condition:
        raise AssertionError(" ".join(map(str, what)))


def row_bytes(feature, index):
    data = bytes.fromhex(feature["hex"])
    size = {"float16": 2, "bfloat16": 2, "float32": 4, "float64": 8, "uint8": 1, "bool": 1,
            "int8": 1, "int16": 2, "int32": 4, "int64": 8}[feature["dtype"]]
    for extent in feature["row_shape"]:
        size *= extent
    return data[index * size:(index + 1) * size]


class Checker:
    def __init__(self, description, directory):
        self.graph, self.directory = description, directory
        self.parts = range(description["num_parts"])
        self.edges = []  # (source, destination, edge type), homogeneous ids, by homogeneous id
        with open(os.path.join(directory, description["graph_name"] + ".json")) as file:
            self.config = json.load(file)

    def run(self):
        self.check_config()
        self.node_orig, self.node_homo = self.check_features("node", self.graph["nodes"])
        self.check_owners()
        self.edge_orig, _ = self.check_features("edge", self.graph["edges"])
        self.check_edges()
        for part in self.parts:
            self.check_graph(part)

    # Checks of the part config.

    def check_config(self):
        config, graph = self.config, self.graph
        require(list(config) == ["graph_name", "num_nodes", "num_edges", "part_method", "num_parts",
                                 "halo_hops", "node_map", "edge_map", "ntypes", "etypes"]
                + ["part-%d" % p for p in self.parts], "keys are", list(config))
        require(config["graph_name"] == graph["graph_name"])
        require(config["num_parts"] == len(self.parts))
        require(config["halo_hops"] == graph["num_hops"], "halo_hops is", config["halo_hops"])
        for part in self.parts:
            require(config["part-%d" % part] == {
                "node_feats": "part%d/node_feat.dgl" % part,
                "edge_feats": "part%d/edge_feat.dgl" % part,
                "part_graph": "part%d/graph.dgl" % part}, "paths of partition", part)
        self.ntypes = [nodes["type"] for nodes in graph["nodes"]]
        self.etypes = [":".join(edges["type"]) for edges in graph["edges"]]
        require(list(config["ntypes"].items()) == [(n, i) for i, n in enumerate(self.ntypes)])
        require(list(config["etypes"].items()) == [(n, i) for i, n in enumerate(self.etypes)])
        self.ranges = {"node": self.check_map("node", self.ntypes),
                       "edge": self.check_map("edge", self.etypes)}

    def check_map(self, kind, types):
        ranges = self.config[kind + "_map"]
        require(list(ranges) == types)
        at = 0
        for part, name in itertools.product(self.parts, types):
            require(len(ranges[name]) == len(self.parts), name, "has", ranges[name])
            begin, end = ranges[name][part]
            require(begin == at <= end, kind, "range of", name, "in", part, "begins at", begin)
            at = end
        require(self.config["num_%ss" % kind] == at, "num_%ss" % kind)
        return [ranges[name] for name in types]

    def range_of(self, kind, part):
        """Returns the homogeneous ids that a partition owns."""
        return range(self.ranges[kind][0][part][0], self.ranges[kind][-1][part][1])

    # Checks of features and original ids.

    def check_features(self, kind, types):
        """Returns original ids by type and position, and per type {original id: homogeneous id}."""
        original = [[] for _ in types]
        homogeneous = [{} for _ in types]
        names = self.ntypes if kind == "node" else self.etypes
        for part in self.parts:
            found = dgl_files.tensors(
                os.path.join(self.directory, "part%d" % part, kind + "_feat.dgl"))
            require(set(found) == {"%s/%s" % (name, feature) for name, of_type in zip(names, types)
                                   for feature in [f["name"] for f in of_type["features"]]
                                   + ["orig_id"]}, "features are", list(found))
            for t, of_type in enumerate(types):
                begin, end = self.ranges[kind][t][part]
                orig = found[names[t] + "/orig_id"]
                require(orig.dtype == "int64" and orig.shape == (end - begin,), names[t], part)
                ids = orig.integers()
                homogeneous[t].update((o, begin + i) for i, o in enumerate(ids))
                original[t] += ids
                for feature in of_type["features"]:
                    self.check_rows(feature, found[names[t] + "/" + feature["name"]], ids, of_type)
        for t, of_type in enumerate(types):
            count = of_type["count"] if kind == "node" else len(self.ends(of_type))
            require(sorted(original[t]) == list(range(count)), names[t], "lacks some ids")
        return original, homogeneous

    @staticmethod
    def check_rows(feature, array, ids, of_type):
        dtype = "uint8" if feature["dtype"] == "bool" else feature["dtype"]
        require(array.dtype == dtype, feature["name"], "is", array.dtype)
        require(array.shape == (len(ids), *feature["row_shape"]), feature["name"], array.shape)
        stored = of_type["count"] if "count" in of_type else max(1, len(of_type["src"]))
        for row, orig in zip(array.rows(), ids):
            require(row == row_bytes(feature, orig % stored), feature["name"], "of", orig)

    @staticmethod
    def ends(edges):
        """Returns (source, destination) of every edge and reverse edge, as original ids."""
        pairs = list(zip(edges["src"], edges["dst"]))
        return pairs + [(v, u) for u, v in pairs] if edges.get("add_reverse") else pairs

    def check_owners(self):
        """Checks that owners store their nodes, each type ascending by original id."""
        for t, name in enumerate(self.ntypes):
            at = 0
            for part in self.parts:
                begin, end = self.ranges["node"][t][part]
                ids = self.node_orig[t][at:at + end - begin]
                require(ids == sorted(ids), name, "in", part, "are not in order")
                if "owners" in self.graph:
                    wanted = [i for i, p in enumerate(self.graph["owners"][t]) if p == part]
                    require(ids == wanted, name, "in", part, "are", ids, "not", wanted)
                at += end - begin

    def owner(self, node):
        return next(p for p in self.parts if node in self.range_of("node", p))

    def node_type(self, node):
        return next(t for t, ranges in enumerate(self.ranges["node"])
                    if any(begin <= node < end for begin, end in ranges))

    def check_edges(self):
        """Checks that edges are stored by their destinations' owners, in the right order."""
        self.edges = [None] * self.config["num_edges"]
        for e, of_type in enumerate(self.graph["edges"]):
            ends, at = self.ends(of_type), 0
            src, dst = (self.ntypes.index(of_type["type"][i]) for i in (0, 2))
            for part in self.parts:
                begin, end = self.ranges["edge"][e][part]
                keys = []
                for homo in range(begin, end):
                    orig = self.edge_orig[e][at + homo - begin]
                    u, v = self.node_homo[src][ends[orig][0]], self.node_homo[dst][ends[orig][1]]
                    require(v in self.range_of("node", part), "edge", homo, "is in partition", part)
                    self.edges[homo] = (u, v, e)
                    keys.append((v, u, orig))
                require(keys == sorted(keys), "edges of type", e, "in", part, "are not in order")
                at += end - begin

    # Checks of graph.dgl.

    def halo(self, part):
        """Returns the halo nodes and the edges that are not owned, as sets of homogeneous ids."""
        inner, hops = set(self.range_of("node", part)), self.graph["num_hops"]
        reached, level, expanded = set(), inner, set()
        for hop in range(hops):
            if hop:
                expanded |= level
            level = {u for u, v, _ in self.edges if v in level} - inner - reached
            reached |= level
        others = {i for i, (u, v, _) in enumerate(self.edges)
                  if v not in inner and (u in inner or v in expanded)}
        return reached | {self.edges[i][1] for i in others}, others

    def check_graph(self, part):
        inner, owned = self.range_of("node", part), self.range_of("edge", part)
        halo, others = self.halo(part)
        path = os.path.join(self.directory, "part%d" % part, "graph.dgl")
        formats, nodes, edges = dgl_files.graph(path, len(inner) + len(halo),
                                                len(owned) + len(others))
        typed = len(self.parts) == 1 or (len(self.ntypes), len(self.etypes)) != (1, 1)
        ids = list(inner) + sorted(halo)
        self.check_columns(path, nodes, {
            "_ID": ("int64", ids),
            "inner_node": ("uint8", [int(i in inner) for i in ids]),
            **({"part_id": ("int64", [self.owner(i) for i in ids])} if len(self.parts) > 1 else {}),
            **({"_TYPE": ("int32", [self.node_type(i) for i in ids])} if typed else {})})
        edge_ids = list(owned) + sorted(others)
        self.check_columns(path, edges, {
            "_ID": ("int64", edge_ids),
            "inner_edge": ("uint8", [int(i in owned) for i in edge_ids]),
            **({"_TYPE": ("int32", [self.edges[i][2] for i in edge_ids])} if typed else {})})
        require(set(formats) == set((self.graph["formats"] or "coo").split(",")), formats.keys())
        local = {node: i for i, node in enumerate(ids)}
        wanted = [(local[self.edges[i][0]], local[self.edges[i][1]]) for i in edge_ids]
        for name, matrix in formats.items():
            require(self.pairs(name, matrix) == wanted, path, name, "has other edges")

    @staticmethod
    def check_columns(path, found, wanted):
        require(set(found) == set(wanted), path, "has columns", list(found))
        for name, (dtype, values) in wanted.items():
            require(found[name].dtype == dtype, path, name, "is", found[name].dtype)
            require(found[name].integers() == values, path, name, "is", found[name].integers(),
                    "not", values)

    @staticmethod
    def pairs(name, matrix):
        """Returns (source, destination) by local edge id."""
        if name == "coo":
            return list(zip(*matrix))
        indptr, indices, ids = matrix
        require(indptr[0] == 0 and indptr[-1] == len(indices), name, "offsets")
        found = {}
        for row, (begin, end) in enumerate(zip(indptr, indptr[1:])):
            require(begin <= end and ids[begin:end] == sorted(ids[begin:end]), name, "row", row)
            for other, edge in zip(indices[begin:end], ids[begin:end]):
                found[edge] = (other, row) if name == "csc" else (row, other)
        return [found[edge] for edge in range(len(ids))]


def check(description, directory):
    Checker(description, directory).run()


# Random graphs for the tests.

DTYPES = [("float32", 4), ("float16", 2), ("float64", 8), ("bool", 1), ("uint8", 1), ("int8", 1),
          ("int16", 2), ("int32", 4), ("int64", 8)]


def random_features(draw, rows):
    features = []
    for i in range(draw.randrange(3)):
        dtype, size = draw.choice(DTYPES)
        row_shape = draw.choice([[], [1], [3], [2, 2]])
        for extent in row_shape:
            size *= extent
        data = bytes(draw.randrange(2 if dtype == "bool" else 256) for _ in range(rows * size))
        features.append({"name": "f%d" % i, "dtype": dtype, "row_shape": row_shape,
                         "hex": data.hex()})
    return features


def random_edges(draw, canonical, nodes):
    src, dst = (nodes[end]["count"] for end in (canonical[0], canonical[2]))
    # The ends are drawn from a prefix of the nodes, so that the others are isolated.
    src, dst = draw.randint(0, src), draw.randint(0, dst)
    same = canonical[0] == canonical[2]
    pairs = []
    for _ in range(draw.randrange(3 * (src + dst) + 1) if src and dst else 0):
        pairs.append((draw.randrange(src), draw.randrange(dst)))
        if draw.random() < 0.1:
            pairs.append(pairs[0])
        if same and draw.random() < 0.1:
            pairs.append((pairs[-1][0], pairs[-1][0]))
    return {"type": list(canonical), "src": [u for u, _ in pairs], "dst": [v for _, v in pairs],
            "add_reverse": same and draw.random() < 0.3,
            "features": random_features(draw, len(pairs))}


def random_graph(seed, homogeneous):
    """Describes a graph with isolated nodes, self loops, repeated edges and empty partitions."""
    draw = random.Random(seed)
    names = ["_N"] if homogeneous else ["author", "field", "paper"][:draw.randint(1, 3)]
    nodes = [{"type": name, "count": draw.choice([1, 2, 9, 30, 60])} for name in names]
    for of_type in nodes:
        of_type["features"] = random_features(draw, of_type["count"])
    relations = [("_N", "_E", "_N")]
    if not homogeneous:
        possible = [(u, r, v) for u in names for r in ("has", "like") for v in names]
        relations = sorted(draw.sample(possible, draw.randint(1, min(5, len(possible)))))
    by_name = {of_type["type"]: of_type for of_type in nodes}
    num_parts = draw.randint(1, 4)
    # Some partitions get no nodes of some type, or none at all.
    owners = []
    for of_type in nodes:
        choice = draw.sample(range(num_parts), draw.randint(1, num_parts))
        owners.append([draw.choice(choice) for _ in range(of_type["count"])])
    formats = draw.choice(["", "coo", "csc", "csr", "coo,csc", "csc,csr", "coo,csc,csr"])
    return {"graph_name": "g", "num_parts": num_parts, "num_hops": draw.randint(1, 3),
            "formats": formats, "nodes": nodes,
            "edges": [random_edges(draw, relation, by_name) for relation in relations],
            "owners": owners}
