// SPDX-License-Identifier: Apache-2.0
#include "daemon/requests/requests_in_flight.h"

#include <algorithm>
#include <utility>

#include "base/log.h"
#include "base/strings.h"

namespace graphd {
namespace {

LogLevel LevelOf(ErrorCode code) {
  switch (code) {
    case ErrorCode::kInternal:
    case ErrorCode::kIo:
    case ErrorCode::kCorrupt:
      return LogLevel::kWarning;
    case ErrorCode::kDenied:
      return LogLevel::kInfo;
    default:
      return LogLevel::kDebug;
  }
}

}  // namespace

const char* TextOf(RequestState state) {
  switch (state) {
    case RequestState::kRuns:
      return "runs";
    case RequestState::kWaitsForThread:
      return "waits for a thread of the daemon";
    case RequestState::kWaitsForIndex:
      return "waits for an index that is built";
    case RequestState::kWaitsForTurn:
      return "waits for its turn among the changes of all jobs";
    case RequestState::kWaitsForStore:
      return "waits for the store to log and make a change";
    case RequestState::kWaitsForTrainers:
      return "waits for other trainers of its job";
    case RequestState::kWaitsToHold:
      return "waits until a checkpoint may hold changes again";
  }
  return "?";
}

RequestInFlight::RequestInFlight(std::shared_ptr<ClientRequests> client, const char* operation)
    : client_(std::move(client)), operation_(operation) {
  const MutexLock lock(client_->mutex_);
  place_ = client_->requests_.insert(client_->requests_.end(), this);
}

RequestInFlight::~RequestInFlight() {
  const MutexLock lock(client_->mutex_);
  client_->requests_.erase(place_);
}

void RequestInFlight::SetState(RequestState state) noexcept {
  state_.store(state, std::memory_order_relaxed);
  if (state == RequestState::kWaitsForThread || state == RequestState::kWaitsForTurn) {
    queued_since_.store(Clock::now().time_since_epoch().count(), std::memory_order_relaxed);
    return;
  }
  // Slices of a request run on several threads; the slice that begins first ends the wait.
  if (queued_since_.load(std::memory_order_relaxed) == 0) return;
  const Clock::rep since = queued_since_.exchange(0, std::memory_order_relaxed);
  if (since == 0) return;
  waited_.fetch_add(Clock::now().time_since_epoch().count() - since, std::memory_order_relaxed);
}

Clock::duration RequestInFlight::WaitedUntil(Clock::time_point now) const noexcept {
  const Clock::rep since = queued_since_.load(std::memory_order_relaxed);
  const Clock::rep present = since == 0 ? 0 : now.time_since_epoch().count() - since;
  return Clock::duration(waited_.load(std::memory_order_relaxed) + present);
}

RequestPtr ClientRequests::Begin(const char* operation) {
  if (*refused_) {
    Throw(ErrorCode::kUnavailable, "this graphd is stopping and takes no new requests");
  }
  return std::make_shared<RequestInFlight>(shared_from_this(), operation);
}

size_t ClientRequests::NumUnderWay() const {
  const MutexLock lock(mutex_);
  return static_cast<size_t>(std::ranges::count_if(requests_, [](const auto* request) {
    const RequestState state = request->state_.load(std::memory_order_relaxed);
    return state != RequestState::kWaitsForTrainers && state != RequestState::kWaitsToHold;
  }));
}

void ClientRequests::AppendTo(Clock::time_point now, std::vector<RequestStatus>& out) const {
  const MutexLock lock(mutex_);
  for (const RequestInFlight* request : requests_) {
    out.push_back({request->operation_, TextOf(request->state_.load(std::memory_order_relaxed)),
                   std::chrono::duration<double>(now - request->since_).count(), job_id_, rank_,
                   pid_, peer_});
  }
}

void ClientRequests::LogFailed(const char* operation, const Error& error) const noexcept {
  try {
    const std::string who = rank_ < 0 ? std::string("a launcher") : StrCat("trainer ", rank_);
    LogLine(LevelOf(error.code()),
            StrCat("a request (", operation, ") of ", who, " of job ", job_id_,
                   " has failed: ", error.what()),
            {job_id_, log_name_, operation});
  } catch (const std::exception&) {
    // If there is no memory for a line of the log, the line is left out.
  }
}

std::shared_ptr<ClientRequests> RequestsInFlight::Add(const JobRegistry::Membership& member,
                                                      const Peer& peer) {
  auto client = std::make_shared<ClientRequests>(member, peer, refused_);
  const MutexLock lock(mutex_);
  std::erase_if(clients_, [](const auto& each) { return each.expired(); });
  clients_.push_back(client);
  return client;
}

size_t RequestsInFlight::NumUnderWay() const {
  const MutexLock lock(mutex_);
  size_t sum = 0;
  for (const auto& each : clients_) {
    if (const auto client = each.lock()) sum += client->NumUnderWay();
  }
  return sum;
}

OldestRequests RequestsInFlight::Oldest(size_t most) const {
  // Only the requests to be returned are sorted: thousands of clients may have hundreds each.
  const auto older = [](const RequestStatus& a, const RequestStatus& b) {
    return a.seconds > b.seconds;
  };
  OldestRequests all;
  const Clock::time_point now = Clock::now();
  std::vector<RequestStatus>& oldest = all.requests;
  const MutexLock lock(mutex_);
  for (const auto& each : clients_) {
    const std::shared_ptr<ClientRequests> client = each.lock();
    if (client == nullptr) continue;
    const size_t before = oldest.size();
    client->AppendTo(now, oldest);
    all.total += oldest.size() - before;
    if (oldest.size() <= 2 * most) continue;
    std::nth_element(oldest.begin(), oldest.begin() + static_cast<ptrdiff_t>(most), oldest.end(),
                     older);
    oldest.resize(most);
  }
  std::sort(oldest.begin(), oldest.end(), older);
  if (oldest.size() > most) oldest.resize(most);
  return all;
}

}  // namespace graphd
