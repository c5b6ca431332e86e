// SPDX-License-Identifier: Apache-2.0
#include "client/daemon_link.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <deque>

#include "base/clock.h"
#include "base/strings.h"
#include "sampling/gather.h"
#include "wire/convert.h"

namespace graphd {
namespace {

// Answers of this size keep gathering, sending and placing rows overlapped; bench/rpc.
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

// Error codes thrown while an answer is read become exceptions of the promise.
template <class F>
void AsKj(F&& f) {
  try {
    f();
  } catch (const Error& error) {
    kj::throwFatalException(ToKj(error));
  }
}

}  // namespace

struct DaemonLink::Live {
  struct Attached {
    Attached(kj::LowLevelAsyncIoProvider& provider, UniqueFd fd, bool is_unix,
             std::shared_ptr<BufferPool> buffers)
        : connection(provider, std::move(fd), is_unix, std::move(buffers),
                     capnp::rpc::twoparty::Side::CLIENT, nullptr),
          daemon(connection.Bootstrap()) {}
    // Sends the attach of a member with this role.
    auto Attach(const Options& options, JobRole role, bool want_segments) {
      auto request = daemon.attachRequest();
      WriteHello(request.initHello());
      request.setServerName(options.server_name);
      request.setWantSegments(want_segments);
      JobMember member;
      member.job_id = options.job_id;
      member.role = role;
      member.rank = options.rank;
      member.world_size = options.world_size;
      WriteMember(member, request.initMember());
      return request.send();
    }
    Connection connection;
    wire::Daemon::Client daemon;
    kj::Maybe<wire::Session::Client> session;
  };
  std::unique_ptr<Attached> small, bulk;
};

DaemonLink::DaemonLink(std::shared_ptr<RpcThread> thread, std::shared_ptr<BufferPool> buffers,
                       const Options& options, DaemonAddress address)
    : thread_(std::move(thread)),
      buffers_(std::move(buffers)),
      options_(options),
      address_(std::move(address)) {
  socket_path_ = SocketPath(RuntimeDir(), options_.server_name, address_.port);
  use_unix_ = options_.transport == Transport::kUnix ||
              (options_.transport == Transport::kAuto && IsLocalAddress(address_.address));
  peer_ = use_unix_ ? socket_path_ : HostPort(address_.address, address_.port);
}

DaemonLink::~DaemonLink() {
  thread_->Run([this] { live_ = nullptr; });
}

wire::Session::Client DaemonLink::session(Lane lane) const {
  if (live_) {
    const auto& attached = lane == Lane::kBulk && live_->bulk ? live_->bulk : live_->small;
    KJ_IF_MAYBE (session, attached->session) {
      return *session;
    }
  }
  kj::throwFatalException(kj::Exception(kj::Exception::Type::DISCONNECTED, __FILE__, __LINE__,
                                        kj::heapString("not attached")));
}

UniqueFd DaemonLink::Connect() const {
  const int timeout_ms = static_cast<int>(options_.timeout.count());
  return use_unix_ ? ConnectUnix(socket_path_, timeout_ms)
                   : ConnectTcp(address_.address, address_.port, timeout_ms);
}

uint64_t DaemonLink::connection_number() const {
  std::lock_guard lock(mutex_);
  return number_;
}

AttachInfo DaemonLink::Attach() {
  const auto start = Clock::now();
  auto pause = std::chrono::milliseconds(5);
  for (;;) {
    try {
      AttachInfo info = AttachOnce();
      std::lock_guard lock(mutex_);
      number_++;
      return info;
    } catch (const Error& error) {
      // Not there yet, or restarting: wait for it. Anything else won't get better.
      const bool waits = error.code() == ErrorCode::kUnavailable &&
                         Clock::now() - start + pause < options_.timeout;
      if (!waits) {
        if (error.code() != ErrorCode::kUnavailable) throw;
        Throw(ErrorCode::kUnavailable, error.what(), " (waited ",
              static_cast<int>(SecondsSince(start)), " s; start it with: graphctl server start ",
              "--server_name ", options_.server_name, ")");
      }
      std::this_thread::sleep_for(pause);
      pause = std::min(pause * 2, std::chrono::milliseconds(500));
    }
  }
}

void DaemonLink::Reconnect(uint64_t seen) {
  std::unique_lock lock(mutex_);
  if (number_ != seen) return;  // another thread did it
  lock.unlock();
  static_cast<void>(Attach());
}

AttachInfo DaemonLink::AttachOnce() {
  const bool want_segments = use_unix_ && options_.transport == Transport::kAuto;
  UniqueFd small_fd = Connect(), bulk_fd;
  if (!want_segments) bulk_fd = Connect();
  AttachInfo info;
  struct Mapping {
    PartId part;
    std::vector<SegmentLayout> layouts;
    std::vector<UniqueFd> fds;
  };
  std::vector<Mapping> mappings;
  auto pending = thread_->Start(
      [&]() -> kj::Promise<void> {
        live_ = std::make_unique<Live>();
        live_->small = std::make_unique<Live::Attached>(thread_->provider(), std::move(small_fd),
                                                        use_unix_, buffers_);
        kj::Promise<void> bulk_attached = kj::READY_NOW;
        if (bulk_fd) {
          live_->bulk = std::make_unique<Live::Attached>(thread_->provider(), std::move(bulk_fd),
                                                         use_unix_, buffers_);
          bulk_attached = live_->bulk->Attach(options_, JobRole::kBulk, false)
                              .then([bulk = live_->bulk.get()](auto&& response) {
                                bulk->session = response.getSession();
                              });
        }
        auto small_attached = live_->small->Attach(options_, JobRole::kTrainer, want_segments);
        return small_attached.then([&, bulk_attached = kj::mv(bulk_attached)](
                                       auto&& response) mutable -> kj::Promise<void> {
          live_->small->session = response.getSession();
          kj::Vector<kj::Promise<void>> descriptors;
          AsKj([&] {
            CheckHello(response.getHello(), "the graphd at " + peer_);
            info.meta = ReadGraph(response.getGraph(), "the graphd at " + peer_);
            info.node_features.resize(static_cast<size_t>(info.meta->schema.num_ntypes()));
            info.edge_features.resize(static_cast<size_t>(info.meta->schema.num_etypes()));
            for (auto partition : response.getPartitions()) {
              info.parts.push_back(partition.getPart());
              if (info.parts.size() == 1) {
                for (auto feature : partition.getFeatures()) {
                  auto& of_kind = feature.getIsEdge() ? info.edge_features : info.node_features;
                  std::vector<int64_t> shape;
                  for (int64_t extent : feature.getRowShape()) shape.push_back(extent);
                  of_kind.at(static_cast<size_t>(feature.getType()))
                      .push_back({feature.getName().cStr(), static_cast<DType>(feature.getDtype()),
                                  std::move(shape)});
                }
              }
              if (!want_segments) continue;
              Mapping& mapping = mappings.emplace_back();
              mapping.part = partition.getPart();
              for (auto segment : partition.getSegments()) {
                mapping.layouts.push_back(ReadLayout(segment, "the graphd at " + peer_));
              }
              mapping.fds.resize(mapping.layouts.size());
            }
          });
          // Descriptors in a second pass: `mappings` no longer moves.
          for (kj::uint p = 0; want_segments && p < response.getPartitions().size(); p++) {
            auto segments = response.getPartitions()[p].getSegments();
            for (kj::uint s = 0; s < segments.size(); s++) {
              UniqueFd& to = mappings[p].fds[s];
              auto handle = segments[s].getHandle();
              auto descriptor = handle.getFd();
              descriptors.add(descriptor
                                  .then([&to](kj::Maybe<int> number) {
                                    KJ_IF_MAYBE (n, number) {
                                      to = UniqueFd(::fcntl(*n, F_DUPFD_CLOEXEC, 0));
                                    }
                                  })
                                  .attach(kj::mv(handle)));
            }
          }
          descriptors.add(kj::mv(bulk_attached));
          return kj::joinPromises(descriptors.releaseAsArray()).attach(kj::mv(response));
        });
      },
      options_.timeout, "the graphd at " + peer_);
  pending.Wait();
  for (Mapping& mapping : mappings) {
    std::vector<std::shared_ptr<const Segment>> segments;
    for (size_t s = 0; s < mapping.fds.size(); s++) {
      if (!mapping.fds[s]) {
        Throw(ErrorCode::kCorrupt, "the graphd at ", peer_, " sent no descriptor for a segment");
      }
      segments.push_back(Segment::Map(std::move(mapping.fds[s]), std::move(mapping.layouts[s])));
    }
    info.mapped.push_back(
        std::make_shared<const Partition>(info.meta, mapping.part, std::move(segments)));
  }
  return info;
}

RpcThread::Pending DaemonLink::Gather(PartId part, const FeatureRef& feature, size_t row_bytes,
                                      int64_t type_count, std::span<const int64_t> ids,
                                      std::span<const int64_t> positions, std::byte* out) {
  const size_t per_chunk = std::max<size_t>(1, kChunkBytes / std::max<size_t>(row_bytes, 8));
  const size_t chunks = (ids.size() + per_chunk - 1) / per_chunk;
  const size_t width = IdBytes(type_count);
  auto step = [=, this](size_t chunk) -> kj::Promise<void> {
    const auto some =
        ids.subspan(chunk * per_chunk, std::min(per_chunk, ids.size() - chunk * per_chunk));
    auto request =
        session(Lane::kBulk).gatherRequest(capnp::MessageSize{some.size() * width / 8 + 32, 0});
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
  return thread_->Start([=] { return Pipelined(chunks, step); }, options_.timeout,
                        "the graphd at " + peer_);
}

RpcThread::Pending DaemonLink::Slice(PartId part, const FeatureRef& feature, size_t row_bytes,
                                     int64_t begin, std::span<std::byte> out) {
  const size_t per_chunk = std::max<size_t>(1, kChunkBytes / std::max<size_t>(row_bytes, 1));
  const size_t rows = row_bytes ? out.size() / row_bytes : 0;
  const size_t chunks = (rows + per_chunk - 1) / per_chunk;
  auto step = [=, this](size_t chunk) -> kj::Promise<void> {
    const size_t first = chunk * per_chunk, count = std::min(per_chunk, rows - first);
    auto request = session(Lane::kBulk).sliceRequest();
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
  return thread_->Start([=] { return Pipelined(chunks, step); }, options_.timeout,
                        "the graphd at " + peer_);
}

namespace {

// Appends one answer to what came before; `offset` is where its seeds begin.
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

RpcThread::Pending DaemonLink::Sample(PartId part, EdgeTypeId etype, const SampleOptions& options,
                                      uint64_t key, int64_t src_count, int64_t dst_count,
                                      int64_t edge_count, std::span<const int64_t> seeds,
                                      SampledPart* out) {
  const size_t chunks = (seeds.size() + kSeedsPerRequest - 1) / kSeedsPerRequest;
  const size_t seed_width = IdBytes(dst_count), neighbor_width = IdBytes(src_count),
               edge_width = IdBytes(edge_count);
  auto parts = std::make_shared<std::vector<SampledPart>>(chunks);
  auto step = [=, this](size_t chunk) -> kj::Promise<void> {
    const auto some =
        seeds.subspan(chunk * kSeedsPerRequest,
                      std::min(kSeedsPerRequest, seeds.size() - chunk * kSeedsPerRequest));
    auto request = session(Lane::kSmall)
                       .sampleRequest(capnp::MessageSize{some.size() * seed_width / 8 + 32, 0});
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
  return thread_->Start(
      [=] {
        return Pipelined(chunks, step).then([parts, out] {
          *out = {};
          for (SampledPart& piece : *parts) Append(*out, std::move(piece));
        });
      },
      options_.timeout, "the graphd at " + peer_);
}

RpcThread::Pending DaemonLink::Barrier() {
  return thread_->Start(
      [this]() -> kj::Promise<void> {
        return session(Lane::kSmall).barrierRequest().send().ignoreResult();
      },
      options_.timeout, "barrier on the graphd at " + peer_);
}

}  // namespace graphd
