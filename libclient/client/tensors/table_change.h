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

// The channels on which one writer sends changes of rows (pushes) to the shares of one tensor, its
// parts in the partitions. A share gets one push at a time, with ascending sequence numbers, so
// that its daemon can tell a repeated push from a new one.
class PushChannels {
 public:
  explicit PushChannels(size_t num_parts);

  struct Channel {
    store::ClientId client;  // a random id
    uint64_t last = 0;       // last sequence number
  };
  Channel& operator[](PartId part) { return channels_[static_cast<size_t>(part)]; }

 private:
  std::vector<Channel> channels_;
};

// A change of a tensor that is being sent to the partitions. It records which of its pieces are
// applied. Pieces that are not applied yet keep their numbers when they are sent again. The change
// refers to the rows and does not own them.
struct TableChange {
  // The unit that is applied at once: everything for one partition, or a part of it.
  struct Piece {
    PartId part = 0;
    std::vector<int64_t> ids = {};
    std::vector<int64_t> positions = {};  // positions of its rows in the payload
    uint64_t number = 0;                  // sequence number or, in a synchronous step, step number
    bool applied = false;
  };
  TableSource* table = nullptr;
  PushChannels* channels = nullptr;  // null: the change is of a synchronous step
  UpdateRule rule;
  const std::byte* payload = nullptr;
  std::vector<Piece> pieces;
  bool asked_for_lease = false;
};

// Makes the next change of `channels`; changes must be sent in the order in which they are made.
// The rows are divided by owner, and into pieces where a partition gets more than 32 MiB; for
// optimisers all occurrences of an id are in one piece, in their order. Partitions without rows
// have no piece. Throws Error(kInvalid) on an id out of range, Error(kOverloaded) if a piece that
// cannot be divided is too large for a message.
TableChange MakeChange(TableSource& table, PushChannels& channels, const UpdateRule& rule,
                       std::span<const int64_t> ids, const std::byte* payload);
// Makes a change of a synchronous step: one piece for each partition, with step number steps[part].
// Throws the errors of MakeChange.
TableChange MakeStagedChange(TableSource& table, const UpdateRule& rule,
                             std::span<const int64_t> ids, const std::byte* payload,
                             std::span<const uint64_t> steps);

// Copies the rows that SendChanges would send first to memory that daemons read. Rows that cannot
// be copied now are copied when they are sent. Throws only exceptions of an InterruptCheck.
void PrepareChanges(std::span<TableChange* const> changes);

// Sends the pieces that are not applied yet, to all partitions concurrently, and waits until they
// are applied. Each change must be of a different tensor. While a daemon is unavailable or
// overloaded, a piece is sent again with the same number until the timeout. Throws the first error
// after all calls have ended.
void SendChanges(std::span<TableChange* const> changes, std::chrono::milliseconds timeout);

}  // namespace graphd
