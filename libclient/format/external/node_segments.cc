// SPDX-License-Identifier: Apache-2.0
#include "format/external/node_segments.h"

#include <sys/resource.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <span>
#include <utility>

#include "base/index.h"
#include "format/native/encoder.h"
#include "format/native/partition_layout.h"
#include "format/native/partition_writer.h"
#include "format/partition/plan.h"

namespace graphd {
namespace {

constexpr uint64_t kRowPieceBytes = uint64_t{4} << 20;
constexpr size_t kMostRows = size_t{1} << 18, kLeastFileBuffer = size_t{16} << 10;

// The rows of a piece of a feature, grouped by owner: part p has rows[begin[p]] .. rows[begin[p +
// 1] - 1].
class RowsByOwner {
 public:
  RowsByOwner(int32_t first_part, int32_t parts)
      : first_part_(first_part), begin_(Index(parts) + 1) {}

  // Groups the rows by `owners`; rows that other partitions own are left out.
  void Group(std::span<const PartId> owners) {
    std::fill(begin_.begin(), begin_.end(), 0u);
    for (const PartId owner : owners) {
      if (const size_t p = PartOf(owner); p + 1 < begin_.size()) begin_[p + 1]++;
    }
    for (size_t p = 0; p + 1 < begin_.size(); p++) begin_[p + 1] += begin_[p];
    rows_.resize(begin_.back());
    next_.assign(begin_.begin(), begin_.end());
    for (size_t i = 0; i < owners.size(); i++) {
      const size_t p = PartOf(owners[i]);
      if (p + 1 < begin_.size()) rows_[next_[p]++] = static_cast<uint32_t>(i);
    }
  }
  std::span<const uint32_t> rows() const { return rows_; }
  std::pair<size_t, size_t> Range(size_t part) const { return {begin_[part], begin_[part + 1]}; }

 private:
  // Returns the owner's number among the partitions of this object. For partitions below the first,
  // the subtraction wraps to numbers beyond all others.
  size_t PartOf(PartId owner) const {
    return Index(int64_t{static_cast<int32_t>(owner)} - first_part_);
  }

  const int64_t first_part_;
  std::vector<uint32_t> begin_, next_, rows_;
};

class NodeSegments {
 public:
  NodeSegments(const NodeOwners& owners, int32_t begin, int32_t end,
               const std::function<void(uint64_t)>& written)
      : owners_(owners), by_owner_(begin, end - begin), written_(written) {}

  void Open(const std::string& directory, SegmentLayout layout, size_t buffer_bytes) {
    files_.push_back(
        std::make_unique<SegmentFileWriter>(TemporarySegmentPath(directory, kNodeFeatureFile),
                                            kNodeFeatureFile, std::move(layout), buffer_bytes));
  }

  // Distributes an array of the nodes of a type; fill(first row, rows, destination) provides the
  // elements of the rows, `row_bytes` each, in encoding.dtype.
  template <class F>
  void Distribute(size_t type, const std::string& array, const Encoding& encoding, size_t row_bytes,
                  F&& row) {
    const std::vector<PartId>& owners = owners_[type];
    if (row_bytes == 0) return;
    const size_t most = std::clamp<size_t>(kRowPieceBytes / row_bytes, 1, kMostRows);
    const size_t elements = row_bytes / DTypeSize(encoding.dtype);
    for (size_t first = 0; first < owners.size(); first += most) {
      const size_t count = std::min(most, owners.size() - first);
      by_owner_.Group(std::span(owners).subspan(first, count));
      const std::span<const uint32_t> rows = by_owner_.rows();
      piece_.resize(rows.size() * row_bytes);
      for (size_t i = 0; i < rows.size(); i++) row(first + rows[i], piece_.data() + i * row_bytes);
      const std::span<const std::byte> stored = Encoded(encoding, piece_, encoded_);
      const size_t stored_bytes = elements * DTypeSize(encoding.stored);
      for (size_t p = 0; p < files_.size(); p++) {
        const auto [begin, end] = by_owner_.Range(p);
        if (begin == end) continue;
        files_[p]->Append(array,
                          stored.subspan(begin * stored_bytes, (end - begin) * stored_bytes));
      }
      if (written_) written_(stored.size());
    }
  }

  std::vector<NativeSegmentInfo> Finish() {
    std::vector<NativeSegmentInfo> infos;
    for (const auto& file : files_) infos.push_back(file->Finish());
    return infos;
  }

 private:
  const NodeOwners& owners_;
  RowsByOwner by_owner_;
  const std::function<void(uint64_t)>& written_;
  std::vector<std::unique_ptr<SegmentFileWriter>> files_;  // by partition
  std::vector<std::byte> piece_, encoded_;
};

}  // namespace

int32_t NodeSegmentsAtOnce(uint64_t memory) {
  rlimit files{};
  ::getrlimit(RLIMIT_NOFILE, &files);
  const uint64_t open = std::max<uint64_t>(files.rlim_cur, 128) - 64;
  const uint64_t buffers =
      (memory - std::min(memory / 2, 3 * kRowPieceBytes)) / (2 * kLeastFileBuffer);
  return static_cast<int32_t>(std::clamp<uint64_t>(std::min(open, buffers), 1, kMaxParts));
}

std::vector<NativeSegmentInfo> WriteNodeSegments(
    const RawGraph& graph, const GraphMeta& meta, const NodeOwners& owners,
    const StoragePlan& storage, const std::function<std::string(PartId)>& directory, int32_t begin,
    int32_t end, uint64_t memory, const std::function<void(uint64_t)>& written) {
  NodeSegments segments(owners, begin, end, written);
  // A growing buffer may occupy twice its size.
  const uint64_t buffers = (memory - std::min(memory / 2, 3 * kRowPieceBytes)) / 2;
  const size_t buffer_bytes = std::clamp<size_t>(buffers / Index(end - begin), kLeastFileBuffer,
                                                 SegmentFileWriter::kBufferBytes);
  for (int32_t p = begin; p < end; p++) {
    segments.Open(directory(static_cast<PartId>(p)),
                  NodeFeatureLayout(graph, meta, storage, static_cast<PartId>(p)), buffer_bytes);
  }
  for (NodeTypeId t = 0; t < meta.schema.num_ntypes(); t++) {
    const RawNodes& nodes = graph.nodes[Index(t)];
    for (size_t f = 0; f < nodes.features.size(); f++) {
      const Tensor& values = nodes.features[f].values;
      const size_t row_bytes = values.row_bytes();
      segments.Distribute(Index(t), Partition::NodeFeatureName(t, nodes.features[f].name),
                          storage.node_features[Index(t)][f], row_bytes,
                          [&](size_t row, std::byte* to) {
                            std::memcpy(to, values.data() + row * row_bytes, row_bytes);
                          });
    }
    segments.Distribute(Index(t), Partition::NodeFeatureName(t, kOrigId),
                        storage.node_orig_ids[Index(t)], sizeof(int64_t),
                        [&](size_t row, std::byte* to) {
                          const int64_t id = nodes.OriginalId(row);
                          std::memcpy(to, &id, sizeof id);
                        });
  }
  return segments.Finish();
}

}  // namespace graphd
