// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <functional>
#include <future>
#include <map>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "base/clock.h"
#include "base/threads/mutex.h"
#include "graph/partition.h"
#include "sampling/index/alias_index.h"
#include "sampling/index/edge_index.h"
#include "sampling/index/order_index.h"
#include "sampling/index/out_index.h"
#include "sampling/index/slot_index.h"

namespace graphd {

// The indexes of one partition, which are arrays derived from it. Each is made when it is first
// needed, and kept until DropIdle drops it. Daemons and standalone mode build the indexes; trainers
// that map the partition request them from the daemon. An index is valid for as long as somebody
// holds its pointer. Thread-safe: one mutex guards the map, and a thread that needs an index which
// another thread is making waits for it. An InterruptCheck can interrupt each of them; the others
// then still get the index.
class EdgeIndexes {
 public:
  using Made = std::shared_ptr<const Segment>;
  // Makes the index; `by_source` is the edge type's kOut index if the index is over its rows.
  using Make = std::function<Made(const EdgeIndexSpec&, const Made& by_source)>;

  // Builds each requested index from the partition.
  explicit EdgeIndexes(std::shared_ptr<const Partition> partition);
  EdgeIndexes(std::shared_ptr<const Partition> partition, Make make);

  const std::shared_ptr<const Partition>& partition() const noexcept { return partition_; }

  // Return an index and make it first if needed. If making it fails, they throw its error, and the
  // next call tries again.
  std::shared_ptr<const OutIndex> Out(EdgeTypeId etype);
  std::shared_ptr<const AliasIndex> Alias(EdgeTypeId etype, bool out, const std::string& column);
  std::shared_ptr<const OrderIndex> Order(EdgeTypeId etype, bool out, const std::string& column);
  // Returns null if the edges are stored in the order of their rows, so that no index is needed.
  std::shared_ptr<const InverseIndex> Inverse(EdgeTypeId etype);
  // Returns null if the rows are already sorted.
  std::shared_ptr<const SortedIndex> Sorted(EdgeTypeId etype);
  // Returns whether Sorted(etype) returns without computing anything.
  bool KnowsSorted(EdgeTypeId etype);
  // Returns the partition's own Csc or, if `out`, the Csc of its edges by source (OutIndex).
  std::shared_ptr<const Csc> Rows(EdgeTypeId etype, bool out);

  // Returns the segment of an index, to share it with another process. Makes it first if needed.
  Made Get(const EdgeIndexSpec& spec);
  // Does the same as Get, and keeps the index for the lifetime of this object.
  Made Keep(const EdgeIndexSpec& spec);
  struct Dropped {
    EdgeIndexSpec spec;
    uint64_t bytes;
  };
  // Drops indexes that nobody holds, that were not passed to Keep, and that were not used for the
  // time `idle`. Drops the least recently used ones first, until the dropped ones have `bytes` in
  // total, and returns them. The memory of an index stays if another process has mapped it.
  std::vector<Dropped> DropIdle(uint64_t bytes, Clock::duration idle);
  // Returns whether an index is made, and counts as a use of it.
  bool Has(const EdgeIndexSpec& spec);
  // Returns the size in bytes of all indexes made so far.
  uint64_t bytes() const;
  // Returns all indexes made so far.
  std::vector<std::pair<EdgeIndexSpec, Made>> All() const;

 private:
  struct Opened {
    std::shared_ptr<const OutIndex> by_source;  // an index over its rows uses its arrays
    Made segment;
    std::variant<std::monostate, OutIndex, AliasIndex, OrderIndex, InverseIndex, SortedIndex> view;
  };
  using Entry = std::shared_ptr<const Opened>;
  struct Slot {
    std::shared_future<Entry> entry;
    Clock::time_point last_use;
    bool is_kept = false;
  };
  Entry Open(const EdgeIndexSpec& spec);
  template <class Index>
  std::shared_ptr<const Index> OpenAs(const EdgeIndexSpec& spec);
  // Makes an index whose slot the caller has added, and tells those that wait for it. They get the
  // Error if making it fails, and null if this thread was interrupted; they then try themselves.
  Entry MakeFor(const EdgeIndexSpec& spec, std::promise<Entry>& waiting);
  Entry MakeAndOpen(const EdgeIndexSpec& spec);

  std::shared_ptr<const Partition> partition_;
  Make make_;
  mutable Mutex mutex_;
  std::map<EdgeIndexSpec, Slot> slots_ GRAPHD_GUARDED_BY(mutex_);
  std::map<EdgeTypeId, bool> sorted_ GRAPHD_GUARDED_BY(mutex_);
};

}  // namespace graphd
