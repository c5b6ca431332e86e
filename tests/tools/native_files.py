# SPDX-License-Identifier: Apache-2.0
"""Reads graphd's partition files as graphd-format(5) describes them.

It is based on that page alone and not on the C++ reader, so it reveals gaps and errors of the page.
"""
import ctypes
import json
import math
import os
import re
import struct

# dtype -> code of struct; bfloat16 has no code and is read as the uint16 of its two bytes.
CODES = {"float16": "e", "bfloat16": "H", "float32": "f", "float64": "d", "bool": "?", "int8": "b",
         "int16": "h", "int32": "i", "int64": "q", "uint8": "B", "uint16": "H", "uint32": "I",
         "uint64": "Q"}
NAME = re.compile(r"csc/\d+/(indptr|indices|edge_rows)|(node|edge)/\d+/.+")


class BadFile(Exception):
    pass


def expect(condition, *what):
    if not condition:
        raise BadFile(" ".join(map(str, what)))


def xxh3(content):
    library = ctypes.CDLL("libxxhash.so.0")
    library.XXH3_64bits.restype = ctypes.c_uint64
    library.XXH3_64bits.argtypes = [ctypes.c_char_p, ctypes.c_size_t]
    return library.XXH3_64bits(content, len(content))


def round_up(value, to):
    return -(-value // to) * to


class Graph:
    """A part config. Types are lists of names by id; ranges[kind][type][part] = (begin, end)."""

    def __init__(self, path):
        with open(path, encoding="utf-8") as file:
            config = json.load(file)
        expect(config["format"] == "graphd-1", path, "has the format", config["format"])
        self.name, self.num_parts = config["graph_name"], config["num_parts"]
        expect(1 <= self.num_parts <= 2**31 - 1, "num_parts", self.num_parts)
        self.ntypes = self.by_id(config["ntypes"])
        self.etypes = [tuple(name.split(":")) for name in self.by_id(config["etypes"])]
        expect(all(len(etype) == 3 for etype in self.etypes), "edge types", self.etypes)
        self.ranges = {
            kind: self.tile(config[f"{kind}_map"], self.by_id(config[f"{kind[0]}types"]),
                            config[f"num_{kind}s"])
            for kind in ("node", "edge")}
        self.directories = []
        for part in range(self.num_parts):
            graph = os.path.join(os.path.dirname(path), config[f"part-{part}"]["part_graph"])
            self.directories.append(os.path.dirname(graph))

    @staticmethod
    def by_id(ids):
        expect(sorted(ids.values()) == list(range(len(ids))), "type ids", ids)
        return sorted(ids, key=ids.get)

    def tile(self, ranges, types, total):
        expect(sorted(ranges) == sorted(types), "the map has", sorted(ranges), "types are", types)
        expect(all(len(of_type) == self.num_parts for of_type in ranges.values()), "ranges", ranges)
        end = 0
        for part in range(self.num_parts):
            for name in types:
                begin, next_end = ranges[name][part]
                expect(begin == end and next_end >= begin, name, "in part", part, "is at", begin)
                end = next_end
        expect(end == total, "ranges end at", end, "expected", total)
        return [ranges[name] for name in types]

    def count(self, kind, type_id, part):
        begin, end = self.ranges[kind][type_id][part]
        return end - begin

    def first(self, kind, type_id, part):
        """Returns the first type-wise id that the partition owns."""
        return sum(self.count(kind, type_id, p) for p in range(part))

    def total(self, kind, type_id):
        return self.first(kind, type_id, self.num_parts)


class Partition:
    """A partition's arrays, {name: (dtype, shape, list of values)}, checked by the page's rules.

    `sources[e][node row]` and `rows[e][node row]` are the in-edges.
    """

    def __init__(self, graph, part):
        self.graph, self.part, self.arrays = graph, part, {}
        self.directory = graph.directories[part]
        with open(os.path.join(self.directory, "partition.json"), encoding="utf-8") as file:
            header = json.load(file)
        expect((header["format"], header["byte_order"]) == ("graphd-1", "little") and
               header["version"] in (1, 2), "format", header["format"], header["version"])
        expect((header["graph_name"], header["part_id"]) == (graph.name, part), "another partition")
        expect(1 <= len(header["segments"]) <= 16, len(header["segments"]), "segments")
        for segment in header["segments"]:
            self.read_segment(segment)
        self.check_features()
        self.sources, self.rows = [], []
        for e in range(len(graph.etypes)):
            self.read_edges(e)

    def read_segment(self, segment):
        name = segment["file"]
        expect("/" not in name and not name.startswith("."), "file", name)
        with open(os.path.join(self.directory, name), "rb") as file:
            content = file.read()
        expect(len(content) == segment["total_bytes"], name, "has", len(content), "bytes")
        expect(len(segment["arrays"]) <= 4096, len(segment["arrays"]), "arrays")
        end = 0
        for array in segment["arrays"]:
            expect(NAME.fullmatch(array["name"]) and array["name"] not in self.arrays,
                   "array", array["name"])
            code, shape = "<" + CODES[array["dtype"]], array["shape"]
            expect(len(shape) <= 16, "shape", shape)
            size = math.prod(shape) * struct.calcsize(code)
            begin = round_up(round_up(end, 64), 4096 if size >= 2 << 20 else 64)
            expect((array["offset"], array["bytes"]) == (begin, size), array["name"], "is at",
                   array["offset"], "expected", begin)
            expect(not any(content[end:begin]), "padding before", array["name"])
            end = begin + size
            expect(re.fullmatch("[0-9a-fA-F]{16}", array["xxh3"]), "checksum", array["xxh3"])
            expect(int(array["xxh3"], 16) == xxh3(content[begin:end]), "checksum of", array["name"])
            values = struct.unpack(f"<{math.prod(shape)}{code[1]}", content[begin:end])
            dtype, values = self.encoded(array, values)
            self.arrays[array["name"]] = (dtype, shape, values)
        expect(round_up(end, 64) == len(content), name, "ends at", len(content))
        expect(not any(content[end:]), "padding at the end of", name)

    @staticmethod
    def encoded(array, values):
        """Returns the dtype and the values that readers get."""
        stored, read = array["dtype"], array.get("read_as", array["dtype"])
        if stored == read:
            expect("scale" not in array, array["name"], "has a scale")
            return stored, values
        integer = re.compile(r"u?int(8|16|32|64)")
        if integer.fullmatch(read):
            expect(read in ("int16", "int32", "int64") and integer.fullmatch(stored) and
                   struct.calcsize(CODES[stored]) < struct.calcsize(CODES[read]),
                   array["name"], stored, "read as", read)
            return read, values
        expect(read == "float32" and stored in ("float16", "bfloat16", "int8"),
               array["name"], stored, "read as", read)
        if stored == "int8":
            return read, tuple(value * array["scale"] for value in values)
        if stored == "bfloat16":
            return read, tuple(struct.unpack("<f", struct.pack("<I", value << 16))[0]
                               for value in values)
        return read, values

    def check_features(self):
        for name, (_, shape, _) in self.arrays.items():
            kind, type_id, _ = name.split("/", 2)
            if kind != "csc":
                rows = self.graph.count(kind, int(type_id), self.part)
                expect(shape and shape[0] == rows, name, "has the shape", shape, "of", rows, "rows")

    def read_edges(self, e):
        src, _, dst = (self.graph.ntypes.index(name) if i != 1 else name
                       for i, name in enumerate(self.graph.etypes[e]))
        edges = self.graph.count("edge", e, self.part)
        dtype, _, indptr = self.arrays[f"csc/{e}/indptr"]
        expect(dtype == "uint64" and len(indptr) == self.graph.count("node", dst, self.part) + 1,
               "indptr", dtype, len(indptr))
        dtype, shape, indices = self.arrays[f"csc/{e}/indices"]
        nodes = self.graph.total("node", src)
        expect(dtype == ("uint32" if nodes < 2**32 else "uint64") and shape == [edges], "indices")
        expect(indptr[0] == 0 and indptr[-1] == edges and list(indptr) == sorted(indptr), "indptr")
        expect(all(source < nodes for source in indices), "a source beyond", nodes)
        rows = range(edges)
        if f"csc/{e}/edge_rows" in self.arrays:
            dtype, _, rows = self.arrays[f"csc/{e}/edge_rows"]
            expect(dtype in ("uint32", "uint64"), "edge_rows")
            expect(sorted(rows) == list(range(edges)), "edge_rows")
        spans = list(zip(indptr, indptr[1:]))
        self.sources.append([indices[begin:end] for begin, end in spans])
        self.rows.append([rows[begin:end] for begin, end in spans])
        expect(all(list(some) == sorted(some) for some in self.sources[-1]), "sources fall")

    def feature(self, kind, type_id, name):
        """Returns rows, each a list of values."""
        _, shape, values = self.arrays[f"{kind}/{type_id}/{name}"]
        width = math.prod(shape[1:])
        return [list(values[i * width:(i + 1) * width]) for i in range(shape[0])]
