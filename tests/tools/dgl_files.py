# SPDX-License-Identifier: Apache-2.0
"""Reads DGL's partition files with only the standard library, checking every field.

It is based on the layout alone, so that it shares no mistake with the code under test. graph() and
tensors() return the contents of the files and raise ValueError for anything unexpected.
"""
import struct

KINDS = {(0, 8): "int8", (0, 16): "int16", (0, 32): "int32", (0, 64): "int64", (1, 8): "uint8",
         (2, 16): "float16", (2, 32): "float32", (2, 64): "float64", (4, 16): "bfloat16"}
CODES = {"int8": "b", "int16": "h", "int32": "i", "int64": "q", "uint8": "B"}


class Array:
    """A dense array: dtype, shape and its bytes."""

    def __init__(self, dtype, shape, data):
        self.dtype, self.shape, self.data = dtype, shape, data

    def integers(self):
        return list(struct.unpack("<%d%s" % (self.shape[0], CODES[self.dtype]), self.data))

    def rows(self):
        size = len(self.data) // self.shape[0] if self.shape[0] else 0
        return [self.data[i * size:(i + 1) * size] for i in range(self.shape[0])]


class Reader:
    def __init__(self, path):
        with open(path, "rb") as file:
            self.data = file.read()
        self.path, self.at = path, 0

    def take(self, size):
        if size < 0 or self.at + size > len(self.data):
            raise ValueError("%s: %d bytes wanted at %d of %d"
                             % (self.path, size, self.at, len(self.data)))
        self.at += size
        return self.data[self.at - size:self.at]

    def numbers(self, layout):
        return struct.unpack("<" + layout, self.take(struct.calcsize("<" + layout)))

    def number(self, layout="Q"):
        return self.numbers(layout)[0]

    def expect(self, wanted, what, layout="Q"):
        at, got = self.at, self.number(layout)
        if got != wanted:
            raise ValueError("%s, offset %d: %s is %#x, not %#x"
                             % (self.path, at, what, got, wanted))

    def text(self):
        return self.take(self.number()).decode()

    def array(self):
        self.expect(0xDD5E40F096B4A13F, "array magic")
        self.expect(0, "reserved")
        self.expect(1, "device type", "i")
        self.expect(0, "device id", "i")
        dimensions, kind, bits, lanes = self.numbers("iBBH")
        if lanes != 1 or (kind, bits) not in KINDS:
            raise ValueError("%s: dtype %d/%d/%d" % (self.path, kind, bits, lanes))
        shape = self.numbers("%dq" % dimensions)
        size = bits // 8
        for extent in shape:
            size *= extent
        self.expect(size, "bytes of an array", "q")
        return Array(KINDS[kind, bits], shape, self.take(size))

    def ids(self, count):
        array = self.array()
        if array.dtype != "int64" or array.shape != (count,):
            raise ValueError("%s: %s%s, not int64[%d]"
                             % (self.path, array.dtype, array.shape, count))
        return array.integers()

    def named(self):
        found = [(self.text(), self.array()) for _ in range(self.number())]
        if len(dict(found)) != len(found):
            raise ValueError(self.path + ": a name is there twice")
        return dict(found)

    def compressed(self, nodes, edges):
        self.expect(0xDD6CD31205DFF127, "magic of a compressed matrix")
        self.expect(nodes, "columns")
        self.expect(nodes, "rows")
        matrix = [self.ids(nodes + 1), self.ids(edges), self.ids(edges)]
        self.expect(0, "sorted", "B")
        return matrix

    def meta(self):
        self.expect(0xDD3C5FFE20046ABF, "magic of the metagraph")
        if self.compressed(1, 1) != [[0, 1], [0], [0]]:
            raise ValueError(self.path + ": the metagraph is not one relation of one type")

    def unit(self, nodes, edges):
        """Returns {"coo": (src, dst), "csr": [indptr, indices, ids], "csc": ...} if stored."""
        self.expect(0xDD2E60F0F6B4A127, "magic of a relation")
        stored = self.number() - (1 << 32)
        self.expect((1 << 32) | 7, "formats allowed")
        if not 1 <= stored <= 7:
            raise ValueError("%s: formats stored are %d" % (self.path, stored))
        found = {}
        if stored & 1:
            self.meta()
            self.expect(0xDD61FFD305DFF127, "magic of a coordinate matrix")
            self.expect(nodes, "columns")
            self.expect(nodes, "rows")
            found["coo"] = (self.ids(edges), self.ids(edges))
            self.ids(0)
            self.expect(0, "rows and columns sorted", "H")
        for bit, name in ((2, "csr"), (4, "csc")):
            if stored & bit:
                self.meta()
                found[name] = self.compressed(nodes, edges)
        return found


def graph(path, nodes, edges):
    """Returns the formats, node and edge columns of graph.dgl, checking its numbers of both."""
    reader = Reader(path)
    for wanted, what in ((0xDD2E4FF046B4A13F, "magic"), (2, "version"), (2, "kind"), (1, "graphs")):
        reader.expect(wanted, what)
    if any(reader.take(4096 - 32)):
        raise ValueError(path + ": bytes 32 to 4095 are not zero")
    reader.expect(4112, "offset of the graph")
    reader.expect(0, "labels")
    reader.expect(0xDD589FBE35224ABF, "magic of a graph")
    reader.meta()
    reader.expect(1, "relations")
    formats = reader.unit(nodes, edges)
    reader.expect(1, "node types")
    reader.expect(nodes, "nodes")
    columns = []
    for count in (nodes, edges):
        reader.expect(1, "types")
        columns.append(reader.named())
        for name, array in columns[-1].items():
            if array.shape != (count,):
                raise ValueError("%s: column %s is %s" % (path, name, array.shape))
    for name in ("_N", "_E"):
        reader.expect(1, "names of types")
        if reader.text() != name:
            raise ValueError(path + ": the types are not called _N and _E")
    for wanted in (16, 1, 4112, 16):
        reader.expect(wanted, "list of graphs")
    if reader.at != len(reader.data):
        raise ValueError("%s: %d bytes too many" % (path, len(reader.data) - reader.at))
    return formats, columns[0], columns[1]


def tensors(path):
    """Returns {name: Array} of node_feat.dgl or edge_feat.dgl."""
    reader = Reader(path)
    reader.expect(0xDD5A9FBE3FA2443F, "magic of a tensor dictionary")
    count = reader.number()
    found = reader.named()
    if len(found) != count or reader.at != len(reader.data):
        raise ValueError(path + ": the number of tensors or the size is wrong")
    return found
