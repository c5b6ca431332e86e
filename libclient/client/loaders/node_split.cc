// SPDX-License-Identifier: Apache-2.0
#include "graphd/node_split.h"

#include <algorithm>
#include <numeric>

#include "base/strings.h"
#include "client/loaders/split_columns.h"
#include "client/loaders/split_share.h"

namespace graphd {
namespace {

constexpr int64_t kRowsAtOnce = int64_t{4} << 20;
constexpr int64_t kMaxTrainers = 1 << 20;

void CheckMask(const std::string& name, DType dtype, const std::vector<int64_t>& shape,
               int64_t count) {
  if (dtype != DType::kUInt8 && dtype != DType::kBool) {
    Throw(ErrorCode::kInvalid, name, " holds ", DTypeName(dtype), ", expected uint8 or bool");
  }
  if (shape.size() != 1 || shape[0] != count) {
    Throw(ErrorCode::kInvalid, name, " has ", shape.empty() ? 1 : shape[0], " rows in ",
          shape.size(), " dimensions, expected one dimension of ", count,
          ", one element per object of its type");
  }
}

// The chosen objects of one type, partition by partition, in the order of the split.
class Chosen {
 public:
  // `trainers` may be null. Messages call it `trainers_name`.
  Chosen(const OwnedIds& ids, ReadRows mask, ReadRows trainers, std::string trainers_name)
      : ids_(ids),
        mask_(std::move(mask)),
        trainers_(std::move(trainers)),
        trainers_name_(std::move(trainers_name)) {}

  int64_t CountIn(PartId part) const {
    int64_t count = 0;
    ForEachBlock(part, [&](int64_t, std::span<const std::byte> mask) {
      count += CountSet(mask);
      return true;
    });
    return count;
  }

  // Appends the ids of a share, ascending within a partition.
  void Collect(const PartShare& share, std::vector<int64_t>& out) const {
    out.reserve(out.size() + static_cast<size_t>(share.end - share.begin));
    if (trainers_) {
      CollectByTrainer(share, out);
    } else {
      CollectInOrder(share, out);
    }
  }

 private:
  static int64_t CountSet(std::span<const std::byte> mask) {
    return static_cast<int64_t>(mask.size()) - std::count(mask.begin(), mask.end(), std::byte{0});
  }

  // Calls f(first row, mask of the rows from there) until it returns false.
  template <class F>
  void ForEachBlock(PartId part, F f) const {
    const int64_t rows = ids_.count_in(part);
    for (int64_t from = 0; from < rows; from += kRowsAtOnce) {
      const int64_t to = std::min(rows, from + kRowsAtOnce);
      const Tensor mask = mask_(part, from, to);
      if (!f(from, std::span(mask.data(), static_cast<size_t>(to - from)))) return;
    }
  }

  void CollectInOrder(const PartShare& share, std::vector<int64_t>& out) const {
    int64_t place = 0;
    ForEachBlock(share.part, [&](int64_t first, std::span<const std::byte> mask) {
      const int64_t set = CountSet(mask);
      if (place + set > share.begin) {
        Append(share.part, first, mask, out, [&](size_t) {
          const int64_t at = place++;
          return at >= share.begin && at < share.end;
        });
      } else {
        place += set;
      }
      return place < share.end;
    });
  }

  void CollectByTrainer(const PartShare& share, std::vector<int64_t>& out) const {
    // The number of objects of each trainer; later, the place of the trainer's next object.
    std::vector<int64_t> places;
    ForEachBlock(share.part, [&](int64_t first, std::span<const std::byte> mask) {
      const std::vector<int64_t> trainers = Trainers(share.part, first, mask);
      for (size_t i = 0; i < mask.size(); i++) {
        if (mask[i] == std::byte{0}) continue;
        const auto trainer = static_cast<size_t>(trainers[i]);
        if (places.size() <= trainer) places.resize(trainer + 1);
        places[trainer]++;
      }
      return true;
    });
    std::exclusive_scan(places.begin(), places.end(), places.begin(), int64_t{0});
    ForEachBlock(share.part, [&](int64_t first, std::span<const std::byte> mask) {
      const std::vector<int64_t> trainers = Trainers(share.part, first, mask);
      Append(share.part, first, mask, out, [&](size_t i) {
        const int64_t at = places[static_cast<size_t>(trainers[i])]++;
        return at >= share.begin && at < share.end;
      });
      return true;
    });
  }

  // Appends the ids of the set rows for which want(position in mask) holds.
  template <class F>
  void Append(PartId part, int64_t first, std::span<const std::byte> mask,
              std::vector<int64_t>& out, F want) const {
    const auto rows = static_cast<int64_t>(mask.size());
    const std::vector<int64_t> ids =
        ids_.is_range() ? std::vector<int64_t>() : ids_.Ids(part, first, first + rows);
    for (size_t i = 0; i < mask.size(); i++) {
      if (mask[i] == std::byte{0} || !want(i)) continue;
      out.push_back(ids.empty() ? ids_.FirstOf(part) + first + static_cast<int64_t>(i) : ids[i]);
    }
  }

  // Returns the trainer ids of a block's rows and checks those of set rows.
  std::vector<int64_t> Trainers(PartId part, int64_t first, std::span<const std::byte> mask) const {
    const Tensor rows = trainers_(part, first, first + static_cast<int64_t>(mask.size()));
    std::vector<int64_t> trainers(mask.size());
    const auto copy = [&](auto values) {
      std::copy(values.begin(), values.end(), trainers.begin());
    };
    if (rows.dtype() == DType::kInt64) {
      copy(rows.as<int64_t>());
    } else {
      copy(rows.as<int32_t>());
    }
    for (size_t i = 0; i < mask.size(); i++) {
      if (mask[i] == std::byte{0} || (trainers[i] >= 0 && trainers[i] < kMaxTrainers)) continue;
      const int64_t row = first + static_cast<int64_t>(i);
      Throw(ErrorCode::kInvalid, "trainer id ", trainers[i], " of '", trainers_name_, "', id ",
            ids_.Ids(part, row, row + 1)[0], ", is outside 0..", kMaxTrainers - 1);
    }
    return trainers;
  }

  const OwnedIds& ids_;
  const ReadRows mask_, trainers_;
  const std::string trainers_name_;
};

std::vector<int64_t> Divide(const OwnedIds& ids, const Chosen& chosen,
                            const SplitOptions& options) {
  if (options.world_size < 1 || options.rank < 0 || options.rank >= options.world_size) {
    Throw(ErrorCode::kInvalid, "rank ", options.rank, " of ", options.world_size,
          " trainers: expected 0..", std::max(0, options.world_size - 1),
          "; see RANK and WORLD_SIZE, or SplitOptions");
  }
  const int world = options.world_size, remote = options.remote_trainers;
  if (remote < 0 || remote > world) {
    Throw(ErrorCode::kInvalid, remote, " remote trainers of ", world, ": expected 0..", world,
          "; see GRAPHD_REMOTE_TRAINERS, or SplitOptions");
  }
  std::vector<PartShare> shares;
  if (options.force_even || options.rank >= world - remote) {
    std::vector<int64_t> sizes;
    for (PartId p = 0; p < ids.num_parts(); p++) sizes.push_back(chosen.CountIn(p));
    shares = options.force_even ? EvenShare(sizes, options.rank, world, remote)
                                : RemoteShare(sizes, options.rank, world, remote);
  } else {
    for (const PartPiece& own : OwnPartitions(ids.num_parts(), options.rank, world - remote)) {
      const int64_t size = OwnersShare(chosen.CountIn(own.part), world, remote);
      shares.push_back({own.part, PieceBegin(size, own.index, own.count),
                        PieceBegin(size, own.index + 1, own.count)});
    }
  }
  std::vector<int64_t> result;
  for (const PartShare& share : shares) chosen.Collect(share, result);
  if (!ids.is_range()) std::sort(result.begin(), result.end());
  return result;
}

// Implements NodeSplit and EdgeSplit. `Mask` is Tensor or DistTensor; `graph` may be null if a book
// is given.
template <class Mask>
std::vector<int64_t> Split(const DistGraph* graph, const PartitionBook& book, bool edges,
                           int32_t type, const std::string& name, const Mask& mask,
                           SplitOptions options) {
  const OwnedIds ids(book.map(edges), type);
  CheckMask(name, mask.dtype(), mask.shape(), ids.count());
  if (graph) {
    const Options& session = graph->session()->options();
    if (options.rank == -1) options.rank = session.rank;
    if (options.world_size == -1) options.world_size = session.world_size;
    // The session's number of remote trainers does not apply to another number of trainers.
    if (options.remote_trainers == -1 && options.world_size == session.world_size) {
      options.remote_trainers = session.remote_trainers;
    }
  }
  if (options.remote_trainers == -1) options.remote_trainers = 0;
  if (options.trainer_ids.empty()) {
    return Divide(ids, Chosen(ids, RowsOf(mask, ids), nullptr, {}), options);
  }
  if (!graph || type == kHomogeneous) {
    Throw(ErrorCode::kInvalid, "trainer_ids '", options.trainer_ids,
          "' is the name of a node or edge feature; give the graph and the type that has it");
  }
  const DistTensor trainers =
      edges ? graph->edata(options.trainer_ids, type) : graph->ndata(options.trainer_ids, type);
  if (trainers.shape().size() != 1 ||
      (trainers.dtype() != DType::kInt64 && trainers.dtype() != DType::kInt32)) {
    Throw(ErrorCode::kInvalid, "trainer_ids '", options.trainer_ids, "' hold ",
          DTypeName(trainers.dtype()), " in ", trainers.shape().size(),
          " dimensions, expected int64 or int32 in one");
  }
  return Divide(ids, Chosen(ids, RowsOf(mask, ids), RowsOf(trainers, ids), options.trainer_ids),
                options);
}

std::vector<int64_t> SplitFeature(const DistGraph& graph, const DistTensor& mask, bool edges,
                                  const SplitOptions& options) {
  if (mask.is_edge() != edges) {
    Throw(ErrorCode::kInvalid, "mask '", mask.name(), "' is a feature of ",
          mask.is_edge() ? "edges; use EdgeSplit" : "nodes; use NodeSplit");
  }
  return Split(&graph, graph.partition_book(), edges, mask.type(), "mask '" + mask.name() + "'",
               mask, options);
}

}  // namespace

std::vector<int64_t> NodeSplit(const DistGraph& graph, const DistTensor& mask,
                               const SplitOptions& options) {
  return SplitFeature(graph, mask, false, options);
}
std::vector<int64_t> EdgeSplit(const DistGraph& graph, const DistTensor& mask,
                               const SplitOptions& options) {
  return SplitFeature(graph, mask, true, options);
}
std::vector<int64_t> NodeSplit(const DistGraph& graph, const Tensor& mask, NodeTypeId ntype,
                               const SplitOptions& options) {
  return Split(&graph, graph.partition_book(), false, ntype, "mask", mask, options);
}
std::vector<int64_t> EdgeSplit(const DistGraph& graph, const Tensor& mask, EdgeTypeId etype,
                               const SplitOptions& options) {
  return Split(&graph, graph.partition_book(), true, etype, "mask", mask, options);
}
std::vector<int64_t> NodeSplit(const PartitionBook& book, const Tensor& mask, NodeTypeId ntype,
                               const SplitOptions& options) {
  return Split(nullptr, book, false, ntype, "mask", mask, options);
}
std::vector<int64_t> EdgeSplit(const PartitionBook& book, const Tensor& mask, EdgeTypeId etype,
                               const SplitOptions& options) {
  return Split(nullptr, book, true, etype, "mask", mask, options);
}

}  // namespace graphd
