// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "graph/partition.h"
#include "wire/graphd.capnp.h"

namespace graphd {

// If the owners of a mapped book take more bytes than this, they are not part of the graph's
// message, because copying them would block a data thread, and because the size of a message is
// limited.
inline constexpr size_t kMaxOwnersInMessage = size_t{64} << 10;
// The maximum number of owners that one call of Session.owners returns.
inline constexpr int64_t kMaxOwnersPerCall = int64_t{1} << 20;

// Returns whether the map's owners are not part of the graph's message.
bool HasSeparateOwners(const IdMap& map);
// Returns the checksum of owners, as the message has it.
uint64_t ChecksumOfOwners(std::span<const int32_t> owners);
// Returns the layout of a segment with the owners of `count` ids.
SegmentLayout LayoutOfOwners(int64_t count);

// A graph as a message describes it. The owners of large mapped books are missing.
class ReceivedGraph {
 public:
  // Throws Error(kCorrupt).
  ReceivedGraph(wire::Graph::Reader in, const std::string& peer);

  // A map whose owners are missing.
  struct Missing {
    bool is_edge = false;
    int64_t size = 0;
    uint64_t checksum = 0;
  };
  std::vector<Missing> missing() const;
  const Schema& schema() const noexcept { return meta_.schema; }
  // Returns whether `known` is this graph. Reads all owners of `known`, to compare their checksums.
  bool IsSameAs(const GraphMeta& known) const;
  // Completes and returns the graph. Calls read(missing, owners) to fill in `owners` for each map
  // whose owners are missing. Throws Error: kCorrupt; kOverloaded if there is no memory for the
  // book; and what `read` throws.
  using Read = std::function<void(const Missing&, std::span<int32_t>)>;
  std::shared_ptr<const GraphMeta> Complete(const Read& read) const;

 private:
  struct Map {
    IdMap map;
    Missing missing;  // its size is 0 if `map` is complete
  };
  Map ReadMap(bool is_edge, wire::IdMap::Reader in, int32_t types) const;
  IdMap CompleteMap(const Map& map, const Read& read) const;

  std::string peer_;
  GraphMeta meta_;  // without its book
  int32_t parts_ = 0;
  Map nodes_, edges_;
};

}  // namespace graphd
