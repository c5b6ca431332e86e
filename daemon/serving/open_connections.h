// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <kj/async.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>

namespace graphd {

// An open connection, as the main thread and a data thread know it.
class OpenConnection {
 public:
  // `num_candidates` is the number of connections from the same source that may give way. It counts
  // this one until it stays, is closed or gives way.
  OpenConnection(std::string source, uint64_t number, size_t thread,
                 std::shared_ptr<std::atomic<size_t>> num_candidates);

  // The functions may be called on any thread.
  const std::string& source() const noexcept { return source_; }
  uint64_t number() const noexcept { return number_; }
  size_t thread() const noexcept { return thread_; }
  bool gives_way() const noexcept { return state_ == State::kGivesWay; }
  // Notes that this connection gives way to no other. Returns false if it does so already.
  bool Stay() noexcept { return Leave(State::kStays) || state_ == State::kStays; }
  // Note that this connection no longer may give way. Return false if that was so before.
  bool GiveWay() noexcept { return Leave(State::kGivesWay); }
  bool Close() noexcept { return Leave(State::kClosed); }

  // Ends the connection when it is fulfilled. Made, used and destroyed by the data thread.
  kj::Maybe<kj::Own<kj::PromiseFulfiller<void>>> end;

 private:
  enum class State { kMayGiveWay, kStays, kGivesWay, kClosed };
  bool Leave(State to) noexcept;

  const std::string source_;
  const uint64_t number_;
  const size_t thread_;
  const std::shared_ptr<std::atomic<size_t>> num_candidates_;
  std::atomic<State> state_{State::kMayGiveWay};
};

// The open connections, by their sources: users of this machine, and other machines. When
// --max_connections are open, a connection whose client has no right to stay gives way to one from
// a source that has fewer of these. So one source can't keep others out by opening connections.
// Owned and used by the main thread.
class OpenConnections {
 public:
  std::shared_ptr<OpenConnection> Add(const std::string& source, size_t thread);
  void Remove(const std::shared_ptr<OpenConnection>& connection);

  // Returns the connection that gives way to a new one from `source`: the oldest one, of those that
  // may, from the source that has the most of these. Returns null if that source would then have
  // fewer than `source` with the new one, or if kMostGivingWay connections have not ended yet.
  static constexpr size_t kMostGivingWay = 256;
  std::shared_ptr<OpenConnection> MakeRoomFor(const std::string& source);

  // Returns the number of connections that give way and have not ended yet.
  size_t giving_way() const noexcept { return giving_way_; }

 private:
  struct Source {
    std::shared_ptr<std::atomic<size_t>> num_candidates = std::make_shared<std::atomic<size_t>>(0);
    size_t open = 0;
    // The connections that may give way, by their numbers, which increase. Those that stay are
    // removed when they are found.
    std::map<uint64_t, std::shared_ptr<OpenConnection>> candidates;
  };

  std::map<std::string, Source> sources_;
  uint64_t next_number_ = 0;
  size_t giving_way_ = 0;
};

}  // namespace graphd
