// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "format/arrow/column.h"
#include "format/distributed/graph_plan.h"
#include "format/native/edge_segment_writer.h"
#include "format/native/header.h"
#include "format/native/segment_file_writer.h"

namespace graphd {

// The sums of the ids of nodes or edges, modulo 2^64. They show whether several processes have
// written each id of 0 .. count - 1 once: the sums of all processes are added up and compared with
// the sums for 0 .. count - 1, which are computed by formulas.
struct IdSums {
  uint64_t count = 0, ids = 0, squares = 0;
  void Add(int64_t id) noexcept {
    const auto value = static_cast<uint64_t>(id);
    count++;
    ids += value;
    squares += value * value;
  }
};

// The writer of one partition in the native format. Another system has shuffled and sorted the
// graph, so the writer gets the rows in their final order and writes them as they come. It writes
// the same bytes as PartitionGraph does for the same assignment of nodes. Memory holds 8 bytes for
// each node of the partition, a buffer for each array that is being written, and a batch.
//
// The caller adds the nodes, type by type, and then the edges, type by type. It leaves out types
// without rows. Not thread-safe. Throws Error if a write fails.
class PartWriter {
 public:
  // Creates files with temporary names in `directory`. The directory must exist, because a task
  // that outlives its run must not create it again. Throws Error(kInvalid) for a plan that
  // GraphPlan::Check refuses, and for a partition that the plan does not have.
  PartWriter(GraphPlan plan, PartId part, std::string directory);
  // Removes the temporary files unless Finish was called.
  ~PartWriter();
  PartWriter(const PartWriter&) = delete;
  PartWriter& operator=(const PartWriter&) = delete;

  // Appends nodes by ascending original id. The columns are this id, int64, and the features in the
  // plan's order. This function and the next two throw Error(kInvalid) for rows in another order,
  // for more or fewer rows than planned, for ids that the graph does not have, and for columns that
  // AppendNumbers refuses.
  void AddNodes(NodeTypeId ntype, const ArrowBatch& batch);
  // Appends edges by ascending (destination, source, edge). The columns are the destination's
  // original id, the source's new id and the edge's original id, int64 each, and then the features.
  void AddEdges(EdgeTypeId etype, const ArrowBatch& batch);
  // Completes the files, syncs them and gives them their names. Returns the bytes of all segments.
  uint64_t Finish();

  // Returns the number of edges so far whose sources other partitions own.
  int64_t edge_cut() const noexcept { return cut_; }
  // Return the sums of the original ids so far, by type.
  const std::vector<IdSums>& node_sums() const noexcept { return node_sums_; }
  const std::vector<IdSums>& edge_sums() const noexcept { return edge_sums_; }

 private:
  // The key by which the edges of a type are ordered.
  struct EdgeOrder {
    int64_t dst = -1, src = -1, edge = -1;
    auto operator<=>(const EdgeOrder&) const = default;
  };

  std::string Called(NodeTypeId ntype) const;
  std::string Called(EdgeTypeId etype) const;
  void CheckColumns(const ArrowBatch& batch, size_t ids, const PlannedType& type,
                    const std::string& called) const;
  [[noreturn]] void FailCount(int64_t count, int64_t planned, const std::string& called) const;
  // Converts the rows of a feature to the stored form, piece by piece, and calls write(stored) for
  // each piece.
  template <class F>
  void ForEachPiece(const ArrowColumn& column, const PlannedFeature& feature, F&& write);
  void EndNodes();
  void EndEdgeType();
  // Ends the nodes and all edge types before this one, which may have no rows, and begins this one.
  void AdvanceToEdges(EdgeTypeId etype);
  void CloseNode();

  const GraphPlan plan_;
  const PartId part_;
  const std::string directory_;
  const std::shared_ptr<const GraphMeta> meta_;
  const RawGraph features_;  // without rows
  const StoragePlan storage_;

  std::optional<SegmentFileWriter> node_file_;
  std::vector<NativeSegmentInfo> node_segment_;
  std::optional<EdgeSegmentWriter> edge_files_;
  std::vector<std::vector<int64_t>> own_ids_;  // by node type, ascending
  std::vector<IdSums> node_sums_, edge_sums_;  // by type
  int32_t etype_ = -1;                         // the current edge type
  int64_t edges_ = 0;                          // edges of the current type so far
  size_t node_ = 0;                            // the row of the destination that gets edges
  uint64_t degree_ = 0;                        // the number of its edges so far
  EdgeOrder last_;
  int64_t cut_ = 0;
  std::vector<uint64_t> degrees_, sources_, edge_ids_;
  std::vector<std::byte> numbers_, encoded_;
  bool finished_ = false;
};

}  // namespace graphd
