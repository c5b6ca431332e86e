// SPDX-License-Identifier: Apache-2.0
// The calls of a link: cut into requests of a good size, put together again.
#include <algorithm>
#include <cstring>

#include "client/link/row_calls.h"

namespace graphd {
namespace {

constexpr size_t kInFlight = 8;

// Runs step(0) .. step(count-1), each an RPC, keeping kInFlight of them under way. On the RPC
// thread.
kj::Promise<void> Pipelined(size_t count, std::function<kj::Promise<void>(size_t)> step) {
  struct State {
    std::function<kj::Promise<void>(size_t)> step;
    size_t next = 0, count = 0;
  };
  auto state = kj::heap<State>();
  state->step = std::move(step);
  state->count = count;
  State& s = *state;
  // One lane per call under way; each starts the next call when its own is done.
  struct Lane {
    static kj::Promise<void> Go(State& s) {
      if (s.next == s.count) return kj::READY_NOW;
      return s.step(s.next++).then([&s] { return Go(s); });
    }
  };
  auto lanes = kj::heapArrayBuilder<kj::Promise<void>>(std::min(kInFlight, count));
  while (!lanes.isFull()) lanes.add(Lane::Go(s));
  return kj::joinPromises(lanes.finish()).attach(kj::mv(state));
}

}  // namespace

RpcThread::Pending DaemonLink::StartSteps(Lane lane, size_t count, Step step) {
  (lane == Lane::kBulk ? traffic_->row_messages : traffic_->messages) += count;
  return thread_->Start(
      [=, this]() -> kj::Promise<void> {
        Connections::Attached* attached = nullptr;
        if (connections_)
          attached = lane == Lane::kBulk && connections_->bulk ? connections_->bulk.get()
                                                               : connections_->small.get();
        if (!attached || attached->session == nullptr) {
          return kj::Exception(kj::Exception::Type::DISCONNECTED, __FILE__, __LINE__,
                               kj::heapString("not attached"));
        }
        // Shared: std::function wants copies, which capabilities don't let be made of constants.
        auto session =
            std::make_shared<wire::Session::Client>(KJ_ASSERT_NONNULL(attached->session));
        auto one = [session, step, gate = attached->gate](size_t i) {
          return gate->Run([session, step, i] { return step(*session, i); });
        };
        return Pipelined(count, one)
            .catch_([this, connections = connections_.get()](kj::Exception&& failure) {
              // Now, so that whoever waits for the call finds the link broken.
              if (failure.getType() == kj::Exception::Type::DISCONNECTED) Lost(connections);
              kj::throwFatalException(kj::mv(failure));
            });
      },
      options_.timeout, "the graphd at " + peer_);
}

RpcThread::Pending DaemonLink::Gather(PartId part, const FeatureRef& feature,
                                      const RowsToRead& rows) {
  return StartReading(*this, rows, [=](wire::Session::Client& session, capnp::MessageSize size) {
    auto request = session.gatherRequest(size);
    request.setPart(part);
    request.setIsEdge(feature.is_edge);
    request.setType(feature.type);
    request.setName(feature.name);
    return request;
  });
}

RpcThread::Pending DaemonLink::Slice(PartId part, const FeatureRef& feature, size_t row_bytes,
                                     int64_t begin, std::span<std::byte> out) {
  const size_t per_chunk = std::max<size_t>(1, kChunkBytes / std::max<size_t>(row_bytes, 1));
  const size_t rows = row_bytes ? out.size() / row_bytes : 0;
  const size_t chunks = (rows + per_chunk - 1) / per_chunk;
  auto step = [=, this](wire::Session::Client& session, size_t chunk) -> kj::Promise<void> {
    const size_t first = chunk * per_chunk, count = std::min(per_chunk, rows - first);
    auto request = session.sliceRequest();
    request.setPart(part);
    request.setIsEdge(feature.is_edge);
    request.setType(feature.type);
    request.setName(feature.name);
    request.setBegin(begin + static_cast<int64_t>(first));
    request.setCount(static_cast<int64_t>(count));
    return request.send().then([=, this](auto&& response) {
      auto data = response.getRows();
      if (data.size() != count * row_bytes) {
        AsKj([&] { BadAnswer(peer_, "bytes", data.size(), count * row_bytes); });
      }
      traffic_->row_bytes += data.size();
      std::memcpy(out.data() + first * row_bytes, data.begin(), data.size());
    });
  };
  return StartSteps(Lane::kBulk, chunks, step);
}

RpcThread::Pending DaemonLink::Barrier() {
  return StartSteps(Lane::kSmall, 1, [](wire::Session::Client& session, size_t) {
    return session.barrierRequest().send().ignoreResult();
  });
}

}  // namespace graphd
