// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "graph/segment.h"
#include "graphd/schema.h"

// partition.json: the table of contents of one partition in graphd's native format. A native
// partition is a directory:
//
//   part<i>/partition.json   this header
//   part<i>/graph.seg        CSC arrays (csc/<etype>/indptr, csc/<etype>/indices)
//   part<i>/node_feat.seg    node/<ntype>/<name>
//   part<i>/edge_feat.seg    edge/<etype>/<name>
//
// A .seg file contains the bytes of a segment (graph/segment.h) exactly as they are mapped:
// little-endian, arrays at the offsets of SegmentLayout, zeros between them.
//
//   {"format": "graphd-1", "version": 1, "byte_order": "little",
//    "graph_name": NAME, "part_id": I,
//    "segments": [{"file": NAME, "total_bytes": N,
//                  "arrays": [{"name": NAME, "dtype": "uint32", "shape": [N, ...],
//                              "offset": N, "bytes": N, "xxh3": 16 hex digits}, ...]}, ...]}
//
// In version 2, an array that readers see in another dtype than its stored dtype (graph/encoding.h)
// has the member "read_as" with the name of the dtype that readers see. An array of scaled int8
// also has "scale". A header without such arrays is written with version 1, for older programs.

namespace graphd {

inline constexpr const char* kNativeFormatName = "graphd-1";
inline constexpr const char* kNativeHeaderFile = "partition.json";

struct NativeSegmentInfo {
  std::string file;  // a plain file name beside partition.json
  SegmentLayout layout;
  std::vector<uint64_t> checksums;  // XXH3-64 of each array, in the layout's order
};

struct NativeHeader {
  std::string graph_name;
  PartId part = 0;
  std::vector<NativeSegmentInfo> segments;

  // Returns the bytes of all segments.
  uint64_t total_bytes() const noexcept;
};

// Reads directory/partition.json and compares the size of every segment with the size of its file,
// so that memory can safely be allocated by the sizes in the header. Throws Error(kCorrupt) or
// Error(kNotFound) naming file, key and expectation, Error(kVersion) for a version that this
// program does not know.
NativeHeader ReadNativeHeader(const std::string& directory);

// Reads the header in the file `path`; the sizes of segments are compared with the files of
// `directory`, unless that is empty.
NativeHeader ReadNativeHeaderFile(const std::string& path, const std::string& directory);

// Returns the text of partition.json.
std::string NativeHeaderText(const NativeHeader& header);

}  // namespace graphd
