// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <atomic>
#include <cstdint>
#include <list>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/threads/mutex.h"
#include "daemon/access/peer.h"
#include "daemon/requests/job_registry.h"
#include "wire/control_messages.h"

namespace graphd {

// The states of a request: it runs, or waits for something.
enum class RequestState : uint8_t {
  kRuns,
  kWaitsForThread,
  kWaitsForIndex,
  kWaitsForTurn,
  kWaitsForStore,
  kWaitsForTrainers,
  kWaitsToHold,
};
// Returns the state as text, for operators: "waits for a thread".
const char* TextOf(RequestState state);

class ClientRequests;

// A request that is not answered yet. The object exists until the request is answered and the last
// thread that works for it has finished, even if its client has disconnected meanwhile.
class RequestInFlight {
 public:
  RequestInFlight(std::shared_ptr<ClientRequests> client, const char* operation);
  ~RequestInFlight();
  RequestInFlight(const RequestInFlight&) = delete;
  RequestInFlight& operator=(const RequestInFlight&) = delete;

  // Any thread may set the state.
  void SetState(RequestState state) noexcept;
  Clock::time_point since() const noexcept { return since_; }
  // Returns how long the request has waited for threads and for its turn, until `now`.
  Clock::duration WaitedUntil(Clock::time_point now) const noexcept;

 private:
  friend class ClientRequests;
  const std::shared_ptr<ClientRequests> client_;
  const char* const operation_;
  const Clock::time_point since_ = Clock::now();
  std::atomic<RequestState> state_{RequestState::kRuns};
  // Both are in ticks of the clock: the time at which the present wait in a queue began (0: there
  // is none), and the sum of the earlier waits.
  std::atomic<Clock::rep> queued_since_{0}, waited_{0};
  std::list<const RequestInFlight*>::iterator place_;  // in the client's list
};
using RequestPtr = std::shared_ptr<RequestInFlight>;

// The requests in flight of one connection. Thread-safe; guarded by one mutex, which the requests
// of other clients never take.
class ClientRequests : public std::enable_shared_from_this<ClientRequests> {
 public:
  // `refused` becomes true when requests are to be refused.
  ClientRequests(const JobRegistry::Membership& member, const Peer& peer,
                 std::shared_ptr<const std::atomic<bool>> refused)
      : refused_(std::move(refused)),
        job_id_(member.job_id()),
        rank_(member.role() == JobRole::kLauncher ? -1 : member.rank()),
        pid_(peer.pid),
        peer_(peer.text),
        log_name_(peer.LogName()) {}

  // Starts a request. `operation` is a literal. Throws Error(kUnavailable) once requests are
  // refused.
  RequestPtr Begin(const char* operation);
  // Returns the number of requests that run or wait for the daemon's own work. Leaves out those
  // that wait for other trainers, or for the time when they may hold pushes.
  size_t NumUnderWay() const;
  // Appends the requests, the oldest first, with their ages at `now`.
  void AppendTo(Clock::time_point now, std::vector<RequestStatus>& out) const;
  // Writes a request that has failed to the log: with level warning if the cause is in the daemon,
  // with level info if the client was denied it, and otherwise with level debug, because the client
  // gets the error.
  void LogFailed(const char* operation, const Error& error) const noexcept;

 private:
  friend class RequestInFlight;
  const std::shared_ptr<const std::atomic<bool>> refused_;
  const std::string job_id_;
  const int rank_;
  const int64_t pid_;
  const std::string peer_, log_name_;
  mutable Mutex mutex_;
  std::list<const RequestInFlight*> requests_ GRAPHD_GUARDED_BY(mutex_);
};

// The requests in flight of all connections. Thread-safe; guarded by one mutex, which is taken when
// a client attaches and when the requests are listed.
class RequestsInFlight {
 public:
  // Adds a client that attaches, and returns the object for its requests.
  std::shared_ptr<ClientRequests> Add(const JobRegistry::Membership& member, const Peer& peer);
  // Returns at most `most` requests, the oldest first, and the number of all requests.
  OldestRequests Oldest(size_t most) const;
  // Refuses new requests of all clients from now on, because the daemon stops.
  void Refuse() noexcept { *refused_ = true; }
  // Returns the sum of ClientRequests::NumUnderWay over all clients.
  size_t NumUnderWay() const;

 private:
  const std::shared_ptr<std::atomic<bool>> refused_ = std::make_shared<std::atomic<bool>>(false);
  mutable Mutex mutex_;
  std::vector<std::weak_ptr<ClientRequests>> clients_ GRAPHD_GUARDED_BY(mutex_);
};

}  // namespace graphd
