// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "graphd/partition_book.h"
#include "store/rows/push.h"

namespace graphd {

class TableSource;

// How one writer's pushes go to the shares of one tensor: to each, one at a time, under ascending
// numbers, so that one that is sent again is told from a new one.
class PushChannels {
 public:
  explicit PushChannels(size_t num_parts);

  struct Channel {
    store::ClientId client;  // drawn at random
    uint64_t last = 0;       // sequence number
  };
  Channel& operator[](PartId part) { return channels_[static_cast<size_t>(part)]; }

 private:
  std::vector<Channel> channels_;
};

// A change of a tensor, on its way to the partitions. What was applied of it is known; sent again,
// the rest has the numbers that it had. A view of the rows.
struct TableChange {
  // What is applied at once: all that a partition gets, or a piece of it.
  struct Piece {
    PartId part = 0;
    std::vector<int64_t> ids = {};
    std::vector<int64_t> positions = {};  // in the payload
    uint64_t number = 0;                  // sequence number, or step
    bool applied = false;
  };
  TableSource* table = nullptr;
  PushChannels* channels = nullptr;  // null: pieces are staged, with their steps' numbers
  store::UpdateRule rule;
  const std::byte* payload = nullptr;
  std::vector<Piece> pieces;
  bool asked_for_lease = false;
};

// The next change of its channels: changes are sent in the order in which they are made. Cuts by
// owner, and what is more than 32 MiB for a partition into pieces; for optimisers all
// occurrences of an id are in the same one, in their order. Partitions that get nothing have no
// piece. Throws Error(kInvalid) on an id that is out of range, Error(kOverloaded) if what can't be
// cut is too large for a message.
TableChange MakeChange(TableSource& table, PushChannels& channels, const store::UpdateRule& rule,
                       std::span<const int64_t> ids, const std::byte* payload);
// Of a synchronous step: one piece for each partition, steps[part] being its number. Throws
// likewise.
TableChange MakeStagedChange(TableSource& table, const store::UpdateRule& rule,
                             std::span<const int64_t> ids, const std::byte* payload,
                             std::span<const uint64_t> steps);

// Copies the rows that SendChanges would send first to where daemons read them. What can't be
// copied now is when it is sent; throws only what an InterruptCheck does.
void PrepareChanges(std::span<TableChange* const> changes);

// Sends what was not applied of the changes, which are of different tensors, to all partitions at
// once, and waits. While a daemon is away it is sent again, under the same number, until the
// timeout; likewise while one is overloaded. Throws the first error when nothing is under way any
// more.
void SendChanges(std::span<TableChange* const> changes, std::chrono::milliseconds timeout);

}  // namespace graphd
