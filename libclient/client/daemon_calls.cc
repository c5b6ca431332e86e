// SPDX-License-Identifier: Apache-2.0
// The calls of a link: cut into requests of a good size, put together again.
#include <algorithm>
#include <cstring>

#include "base/strings.h"
#include "client/daemon_live.h"
#include "sampling/gather.h"

namespace graphd {
namespace {

// Answers of this size keep gathering, sending and placing rows overlapped; bench/transfer.
constexpr size_t kChunkBytes = size_t{2} << 20;
constexpr size_t kSeedsPerRequest = 4096;
constexpr size_t kInFlight = 8;

void WriteIds(std::span<const int64_t> ids, size_t width, capnp::Data::Builder out) {
  if (width == 8) {
    std::memcpy(out.begin(), ids.data(), ids.size_bytes());
    return;
  }
  auto* to = reinterpret_cast<uint32_t*>(out.begin());
  for (size_t i = 0; i < ids.size(); i++) to[i] = static_cast<uint32_t>(ids[i]);
}

void ReadIds(capnp::Data::Reader in, size_t width, int64_t* out, size_t count) {
  if (width == 8) {
    std::memcpy(out, in.begin(), count * 8);
    return;
  }
  const auto* from = reinterpret_cast<const uint32_t*>(in.begin());
  for (size_t i = 0; i < count; i++) out[i] = from[i];
}

[[noreturn]] void BadAnswer(const std::string& peer, const char* what, size_t got,
                            size_t expected) {
  Throw(ErrorCode::kCorrupt, "the graphd at ", peer, " answered with ", got, " ", what,
        ", expected ", expected);
}

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

// Checks one answer and unpacks it.
void TakeSample(wire::Session::SampleResults::Reader answer, const std::string& peer,
                size_t num_seeds, size_t neighbor_width, size_t edge_width, bool edge_ids,
                SampledPart& out) {
  const auto counts = answer.getCounts();
  const size_t width = answer.getCountBytes();
  if ((width != 1 && width != 2 && width != 4) || counts.size() != num_seeds * width) {
    BadAnswer(peer, "bytes of counts", counts.size(), num_seeds * std::max<size_t>(width, 1));
  }
  size_t total = 0;
  out.counts.resize(num_seeds);
  for (size_t i = 0; i < num_seeds; i++) {
    uint32_t count = 0;
    std::memcpy(&count, counts.begin() + i * width, width);  // little-endian
    out.counts[i] = count;
    total += count;
  }
  if (answer.getNeighbors().size() != total * neighbor_width) {
    BadAnswer(peer, "bytes of neighbours", answer.getNeighbors().size(), total * neighbor_width);
  }
  out.neighbors.resize(total);
  ReadIds(answer.getNeighbors(), neighbor_width, out.neighbors.data(), total);
  if (!edge_ids) return;
  if (answer.getEdges().size() != total * edge_width) {
    BadAnswer(peer, "bytes of edge ids", answer.getEdges().size(), total * edge_width);
  }
  out.edge_ids.resize(total);
  ReadIds(answer.getEdges(), edge_width, out.edge_ids.data(), total);
}

void Append(SampledPart& to, SampledPart&& from) {
  if (to.counts.empty()) {
    to = std::move(from);
    return;
  }
  to.counts.insert(to.counts.end(), from.counts.begin(), from.counts.end());
  to.neighbors.insert(to.neighbors.end(), from.neighbors.begin(), from.neighbors.end());
  to.edge_ids.insert(to.edge_ids.end(), from.edge_ids.begin(), from.edge_ids.end());
}

}  // namespace

RpcThread::Pending DaemonLink::StartSteps(Lane lane, size_t count, Step step,
                                          std::function<void()> when_done) {
  return thread_->Start(
      [=, this]() -> kj::Promise<void> {
        Live::Attached* attached = nullptr;
        if (live_)
          attached = lane == Lane::kBulk && live_->bulk ? live_->bulk.get() : live_->small.get();
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
        auto all = Pipelined(count, one);
        if (!when_done) return all;
        return all.then(std::function<void()>(when_done));  // then() keeps references to lvalues
      },
      options_.timeout, "the graphd at " + peer_);
}

RpcThread::Pending DaemonLink::Gather(PartId part, const FeatureRef& feature, size_t row_bytes,
                                      int64_t type_count, std::span<const int64_t> ids,
                                      std::span<const int64_t> positions, std::byte* out) {
  const size_t per_chunk = std::max<size_t>(1, kChunkBytes / std::max<size_t>(row_bytes, 8));
  const size_t chunks = (ids.size() + per_chunk - 1) / per_chunk;
  const size_t width = IdBytes(type_count);
  auto step = [=, this](wire::Session::Client& session, size_t chunk) -> kj::Promise<void> {
    const auto some =
        ids.subspan(chunk * per_chunk, std::min(per_chunk, ids.size() - chunk * per_chunk));
    auto request = session.gatherRequest(capnp::MessageSize{some.size() * width / 8 + 32, 0});
    request.setPart(part);
    request.setIsEdge(feature.is_edge);
    request.setType(feature.type);
    request.setName(feature.name);
    WriteIds(some, width, request.initIds(static_cast<kj::uint>(some.size() * width)));
    return request.send().then([=, this](auto&& response) {
      auto rows = response.getRows();
      if (rows.size() != some.size() * row_bytes) {
        AsKj([&] { BadAnswer(peer_, "bytes", rows.size(), some.size() * row_bytes); });
      }
      ScatterRows(reinterpret_cast<const std::byte*>(rows.begin()), row_bytes,
                  positions.subspan(chunk * per_chunk, some.size()), out);
    });
  };
  return StartSteps(Lane::kBulk, chunks, step);
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
      std::memcpy(out.data() + first * row_bytes, data.begin(), data.size());
    });
  };
  return StartSteps(Lane::kBulk, chunks, step);
}

RpcThread::Pending DaemonLink::Sample(PartId part, EdgeTypeId etype, const SampleOptions& options,
                                      uint64_t key, int64_t src_count, int64_t dst_count,
                                      int64_t edge_count, std::span<const int64_t> seeds,
                                      SampledPart* out) {
  const size_t chunks = (seeds.size() + kSeedsPerRequest - 1) / kSeedsPerRequest;
  const size_t seed_width = IdBytes(dst_count), neighbor_width = IdBytes(src_count),
               edge_width = IdBytes(edge_count);
  auto parts = std::make_shared<std::vector<SampledPart>>(chunks);
  auto step = [=, this](wire::Session::Client& session, size_t chunk) -> kj::Promise<void> {
    const auto some =
        seeds.subspan(chunk * kSeedsPerRequest,
                      std::min(kSeedsPerRequest, seeds.size() - chunk * kSeedsPerRequest));
    auto request = session.sampleRequest(capnp::MessageSize{some.size() * seed_width / 8 + 32, 0});
    request.setPart(part);
    request.setEtype(etype);
    request.setFanout(options.fanout);
    request.setReplace(options.replace);
    request.setKey(key);
    request.setEdgeIds(options.edge_ids);
    WriteIds(some, seed_width, request.initSeeds(static_cast<kj::uint>(some.size() * seed_width)));
    return request.send().then([=, this](auto&& response) {
      AsKj([&] {
        TakeSample(response, peer_, some.size(), neighbor_width, edge_width, options.edge_ids,
                   (*parts)[chunk]);
      });
    });
  };
  return StartSteps(Lane::kSmall, chunks, step, [parts, out] {
    *out = {};
    for (SampledPart& piece : *parts) Append(*out, std::move(piece));
  });
}

RpcThread::Pending DaemonLink::Barrier() {
  return StartSteps(Lane::kSmall, 1, [](wire::Session::Client& session, size_t) {
    return session.barrierRequest().send().ignoreResult();
  });
}

}  // namespace graphd
