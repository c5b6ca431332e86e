// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <functional>
#include <future>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <variant>

#include "graph/partition.h"
#include "sampling/index/alias_index.h"
#include "sampling/index/edge_index.h"
#include "sampling/index/order_index.h"
#include "sampling/index/out_index.h"
#include "sampling/index/slot_index.h"

namespace graphd {

// The derived arrays of one partition, each made when it is first needed and kept as long as this
// lives: by building it (daemons, standalone mode), or by asking the daemon for it (trainers that
// map the partition). References to indexes stay valid as long as this lives. Thread-safe: one
// mutex guards the map; who asks for an index that another thread is making waits for it.
class EdgeIndexes {
 public:
  using Made = std::shared_ptr<const Segment>;
  // Makes the index; `by_source` is the edge type's kOut index if the index is over its rows.
  using Make = std::function<Made(const EdgeIndexSpec&, const Made& by_source)>;

  // Builds what is asked for from the partition.
  explicit EdgeIndexes(std::shared_ptr<const Partition> partition);
  EdgeIndexes(std::shared_ptr<const Partition> partition, Make make);

  const std::shared_ptr<const Partition>& partition() const noexcept { return partition_; }

  // Each throws what making the index threw; the next call tries again.
  const OutIndex& Out(EdgeTypeId etype);
  const AliasIndex& Alias(EdgeTypeId etype, bool out, const std::string& column);
  const OrderIndex& Order(EdgeTypeId etype, bool out, const std::string& column);
  // None if the edges lie in the order of their rows.
  const InverseIndex* Inverse(EdgeTypeId etype);
  // None if the rows are sorted as they are.
  const SortedIndex* Sorted(EdgeTypeId etype);
  // Whether Sorted(etype) will answer at once.
  bool KnowsSorted(EdgeTypeId etype) const;
  // The rows that `out` means: the partition's own CSC, or its edges by source.
  const Csc& Rows(EdgeTypeId etype, bool out);

  // The segment of an index, for handing it on.
  Made Get(const EdgeIndexSpec& spec);
  bool Has(const EdgeIndexSpec& spec) const;
  // Bytes of all indexes that are there.
  uint64_t bytes() const;

 private:
  struct Opened {
    Made segment;
    std::variant<std::monostate, OutIndex, AliasIndex, OrderIndex, InverseIndex, SortedIndex> view;
  };
  using Entry = std::shared_ptr<const Opened>;
  Entry Open(const EdgeIndexSpec& spec);
  Entry MakeAndOpen(const EdgeIndexSpec& spec);

  std::shared_ptr<const Partition> partition_;
  Make make_;
  mutable std::mutex mutex_;
  std::map<EdgeIndexSpec, std::shared_future<Entry>> entries_;  // guarded by mutex_
  std::map<EdgeTypeId, bool> sorted_;                           // guarded by mutex_
};

}  // namespace graphd
