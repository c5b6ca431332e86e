// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <vector>

#include "format/input/raw_graph.h"
#include "format/io/spill_files.h"
#include "format/io/step_progress.h"
#include "format/partition/node_numbering.h"
#include "graph/encoding.h"

// The external sort of the edges of one type into the order of their new ids (partitioner.h has the
// rules). First, edges are distributed to runs on the disk. Each run has the in-edges of a range of
// nodes of one partition. Then each run is read and sorted by itself. A run may exceed the memory,
// because a single group of nodes (node_cells.h) has too many in-edges; it is sorted in parts,
// which are then merged.

namespace graphd {

// The in-edges of the new ids first_node .. end_node - 1, unsorted.
struct EdgeRun {
  PartId part = 0;
  uint64_t first_node = 0, end_node = 0;
  uint64_t begin = 0, end = 0;  // positions in the files
};

// A feature of an edge type that is sorted together with its edges, in its stored form.
struct EdgeColumn {
  const Tensor* values = nullptr;  // [stored edges or edges, ...]
  Encoding encoding;
  size_t elements() const;  // numbers in a row
  size_t stored_bytes() const { return elements() * DTypeSize(encoding.stored); }
};

// Some edges in the order of their new ids.
struct SortedPiece {
  std::vector<uint64_t> src, edge;  // new ids of the sources, original ids of the edges
  std::vector<std::byte> rows;      // [edges, bytes of a row]: the stored features of each edge
};

class SpilledEdges {
 public:
  // Distributes the edges. `memory` bounds the buffers of this step and the memory of ForEachPiece.
  // Columns must outlive the call only. Throws Error(kOverloaded) if the disk is full or `memory`
  // is too small for the number of partitions.
  SpilledEdges(const RawEdges& edges, const NodeNumbering& src, const NodeNumbering& dst,
               const std::vector<EdgeColumn>& columns, uint64_t memory, const std::string& path,
               const StepProgress& progress);

  // Convert this object to and from JSON, for another process that continues with its files.
  nlohmann::ordered_json ToJson() const;
  static SpilledEdges FromJson(const nlohmann::json& json, const std::string& file);

  int64_t edge_cut() const noexcept { return edge_cut_; }
  uint64_t memory() const noexcept { return memory_; }
  const std::vector<EdgeRun>& runs() const noexcept { return runs_; }  // by first_node
  // Returns the number of edges of each partition.
  std::vector<int64_t> Counts(int32_t num_parts) const;

  // Sorts a run. Calls degrees(span of the in-degrees of the run's nodes) once, and then
  // piece(SortedPiece) until all edges have been passed. Uses all cores. Throws Error(kCorrupt) if
  // the files have nodes that do not belong to the run.
  void ForEachPiece(const EdgeRun& run,
                    const std::function<void(std::span<const uint64_t>)>& degrees,
                    const std::function<void(const SortedPiece&)>& piece) const;

  // Removes the files.
  void Remove() const;

 private:
  SpilledEdges() = default;

  std::string path_;  // the paths of the files without their endings
  bool narrow_ = true;
  size_t row_bytes_ = 0;
  uint64_t memory_ = 0;
  int64_t edge_cut_ = 0;
  std::vector<EdgeRun> runs_;
};

// Returns the bytes on the disk that an edge takes while it is sorted.
uint64_t SpilledEdgeBytes(bool narrow, size_t row_bytes) noexcept;
// Returns a `memory` that suffices for SpilledEdges to distribute that many edges. It is 8 MiB, or
// at most a quarter above the least that suffices.
uint64_t LeastSortMemory(uint64_t edges, bool narrow, size_t row_bytes, int32_t num_parts) noexcept;

}  // namespace graphd
