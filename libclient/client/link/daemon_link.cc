// SPDX-License-Identifier: Apache-2.0
// How a link comes about: connecting, attaching, mapping memory.
#include "client/link/daemon_link.h"

#include <algorithm>
#include <thread>

#include "base/clock.h"
#include "base/interrupt.h"
#include "base/strings.h"
#include "client/link/daemon_connections.h"

namespace graphd {
namespace {

// How long a rank that attaches again waits for the daemon to notice that its old connection is
// gone.
constexpr auto kStaleMembership = std::chrono::milliseconds(1000);
// Between attempts to attach that nobody waits for; well below the seconds that a daemon which
// starts again leaves a job's lease to it. The destructor may have to wait for a connect.
constexpr auto kFirstRetry = std::chrono::milliseconds(10);
constexpr auto kLongestRetry = kFirstRetry * 100;
constexpr auto kLongestConnect = std::chrono::milliseconds(2000);

PartitionFeatures ReadFeatures(wire::PartitionInfo::Reader in, const Schema& schema) {
  PartitionFeatures features;
  features.part = in.getPart();
  features.nodes.resize(static_cast<size_t>(schema.num_ntypes()));
  features.edges.resize(static_cast<size_t>(schema.num_etypes()));
  for (auto feature : in.getFeatures()) {
    auto& of_kind = feature.getIsEdge() ? features.edges : features.nodes;
    const auto type = static_cast<size_t>(feature.getType());
    if (type >= of_kind.size() || feature.getDtype() > static_cast<uint8_t>(DType::kUInt64)) {
      Throw(ErrorCode::kCorrupt, "feature '", feature.getName().cStr(), "' of type ", type,
            " and dtype ", feature.getDtype(), " is none that the graph can have");
    }
    std::vector<int64_t> shape;
    for (int64_t extent : feature.getRowShape()) shape.push_back(extent);
    of_kind[type].push_back(
        {feature.getName().cStr(), static_cast<DType>(feature.getDtype()), std::move(shape)});
  }
  return features;
}

bool SameMap(const IdMap& a, const IdMap& b) {
  return a.ranges() == b.ranges() &&
         std::equal(a.owners().begin(), a.owners().end(), b.owners().begin(), b.owners().end());
}

}  // namespace

void CheckSameGraph(const GraphMeta& a, const GraphMeta& b, const std::string& peer_a,
                    const std::string& peer_b) {
  if (a.graph_name == b.graph_name && a.schema == b.schema &&
      a.book.num_partitions() == b.book.num_partitions() &&
      SameMap(a.book.nodes(), b.book.nodes()) && SameMap(a.book.edges(), b.book.edges())) {
    return;
  }
  Throw(ErrorCode::kInvalid, "the graphd at ", peer_a, " serves '", a.graph_name, "' (",
        a.book.nodes().total(), " nodes), the one at ", peer_b, " '", b.graph_name, "' (",
        b.book.nodes().total(), " nodes), or the same cut differently; start both with the same ",
        "part config");
}

void RetryWhileUnavailable(std::chrono::milliseconds timeout,
                           const std::function<void()>& reconnect, const std::function<void()>& f) {
  const auto start = Clock::now();
  auto pause = std::chrono::milliseconds(2);
  for (;;) {
    try {
      return f();
    } catch (const Error& error) {
      if (error.code() != ErrorCode::kUnavailable || Clock::now() - start > timeout) throw;
    }
    // The call may have failed before the link knows that it is broken; or the daemon is there,
    // and what is asked for has to wait for others.
    AwaitTime(pause);
    pause = std::min(pause * 2, std::chrono::milliseconds(100));
    reconnect();
  }
}

DaemonLink::DaemonLink(std::shared_ptr<RpcThread> thread, std::shared_ptr<BufferPool> buffers,
                       std::shared_ptr<Traffic> traffic, const Options& options,
                       DaemonAddress address)
    : thread_(std::move(thread)),
      buffers_(std::move(buffers)),
      traffic_(std::move(traffic)),
      options_(options),
      address_(std::move(address)) {
  socket_path_ = FindSocket(options_.server_name, address_.port);
  use_unix_ = options_.transport == Transport::kUnix ||
              (options_.transport == Transport::kAuto && IsLocalAddress(address_.address));
  peer_ = use_unix_ ? socket_path_ : HostPort(address_.address, address_.port);
}

DaemonLink::~DaemonLink() {
  {
    std::lock_guard lock(keeping_);
    closing_ = true;
  }
  lost_.notify_all();
  const auto drop = [this] { connections_ = nullptr; };
  thread_->Run(drop);  // ends an attempt that is under way
  if (keeper_.joinable()) keeper_.join();
  thread_->Run(drop);
}

UniqueFd DaemonLink::Connect(std::chrono::milliseconds patience) const {
  const int timeout_ms = static_cast<int>(patience.count());
  return use_unix_ ? ConnectUnix(socket_path_, timeout_ms)
                   : ConnectTcp(address_.address, address_.port, timeout_ms);
}

AttachInfo DaemonLink::Attach() {
  std::lock_guard lock(reconnecting_);
  AttachInfo info = AttachPatiently();
  keeper_ = std::thread([this] { KeepAttached(); });
  return info;
}

AttachInfo DaemonLink::AttachPatiently() {
  const auto start = Clock::now();
  auto pause = std::chrono::milliseconds(5);
  for (;;) {
    try {
      return AttachOnce(options_.timeout, options_.timeout);
    } catch (const Error& error) {
      // Not there yet, or restarting: wait for it. A rank that is attached still may be this one's
      // last connection, of which the daemon has not seen the end. Anything else won't get better.
      const auto passed = Clock::now() - start + pause;
      const bool away = error.code() == ErrorCode::kUnavailable;
      if (away ? passed > options_.timeout
               : error.code() != ErrorCode::kExists || passed > kStaleMembership) {
        if (!away) throw;
        Throw(ErrorCode::kUnavailable, error.what(), " (waited ",
              static_cast<int>(SecondsSince(start)), " s; start it with: graphctl server start ",
              "--server_name ", options_.server_name, ")");
      }
      AwaitTime(pause);
      pause = std::min(pause * 2, std::chrono::milliseconds(500));
    }
  }
}

void DaemonLink::ReconnectIfBroken() {
  const auto asked = Clock::now();
  const auto lock = AwaitLock(reconnecting_);
  if (!broken_) return;
  // Threads take turns: what another one tried in vain meanwhile, for as long as one may, is not
  // tried by each again.
  if (failure_ && failed_ > asked) throw Error(*failure_);
  try {
    AttachPatiently();
  } catch (const Error& error) {
    failure_ = error;
    failed_ = Clock::now();
    throw;
  }
}

void DaemonLink::RetryWhileUnavailable(const std::function<void()>& f) {
  graphd::RetryWhileUnavailable(
      options_.timeout, [this] { ReconnectIfBroken(); }, f);
}

void DaemonLink::Lost(Connections* connections) {
  if (connections != connections_.get()) return;
  connections->lost = true;
  {
    std::lock_guard lock(keeping_);
    broken_ = true;
  }
  lost_.notify_all();
}

void DaemonLink::KeepAttached() {
  auto pause = kFirstRetry;
  std::unique_lock lock(keeping_);
  for (;;) {
    lost_.wait(lock, [this] { return closing_ || broken_; });
    if (closing_) return;
    lock.unlock();
    try {
      std::lock_guard reconnecting(reconnecting_);  // a call may be at it
      if (broken_) AttachOnce(std::min(options_.timeout, kLongestConnect), options_.timeout);
    } catch (const Error&) {  // the next call finds out, and says it
    }
    lock.lock();
    if (!broken_) {
      pause = kFirstRetry;
      continue;
    }
    lost_.wait_for(lock, pause, [this] { return closing_.load(); });
    pause = std::min(pause * 2, kLongestRetry);
  }
}

AttachInfo DaemonLink::AttachOnce(std::chrono::milliseconds to_connect,
                                  std::chrono::milliseconds to_answer) {
  UniqueFd small_fd = Connect(to_connect), bulk_fd;
  if (!shares_memory()) bulk_fd = Connect(to_connect);
  try {
    AttachInfo info = AttachTo(std::move(small_fd), std::move(bulk_fd), to_answer);
    if (meta_) CheckSameGraph(*meta_, *info.meta, peer_ + " (before)", peer_);
    meta_ = info.meta;
    generation_++;
    // Not before: what is mapped of the daemon that was lost would be read as if it were this
    // one's.
    thread_->Run([this] { broken_ = connections_ == nullptr || connections_->lost; });
    return info;
  } catch (const Error&) {
    thread_->Run([this] { connections_ = nullptr; });
    throw;
  }
}

AttachInfo DaemonLink::AttachTo(UniqueFd small_fd, UniqueFd bulk_fd,
                                std::chrono::milliseconds patience) {
  const bool want_segments = shares_memory();
  AttachInfo info;
  struct Mapping {
    PartId part;
    std::vector<SegmentLayout> layouts;
    std::vector<UniqueFd> fds;
  };
  std::vector<Mapping> mappings;
  auto pending = thread_->Start(
      [&]() -> kj::Promise<void> {
        if (closing_) AsKj([] { Throw(ErrorCode::kUnavailable, "the graph is being closed"); });
        connections_ = std::make_unique<Connections>();
        const auto lost = [this, connections = connections_.get()] { Lost(connections); };
        connections_->small = std::make_unique<Connections::Attached>(
            thread_->provider(), std::move(small_fd), use_unix_, buffers_, lost);
        kj::Promise<void> bulk_attached = kj::READY_NOW;
        if (bulk_fd) {
          connections_->bulk = std::make_unique<Connections::Attached>(
              thread_->provider(), std::move(bulk_fd), use_unix_, buffers_, lost);
          bulk_attached = connections_->bulk->Attach(options_, JobRole::kBulk, false)
                              .then([bulk = connections_->bulk.get()](auto&& response) {
                                bulk->session = response.getSession();
                              });
        }
        auto small_attached =
            connections_->small->Attach(options_, JobRole::kTrainer, want_segments);
        return small_attached.then([&, bulk_attached = kj::mv(bulk_attached)](
                                       auto&& response) mutable -> kj::Promise<void> {
          connections_->small->session = response.getSession();
          kj::Vector<kj::Promise<void>> descriptors;
          AsKj([&] {
            CheckHello(response.getHello(), "the graphd at " + peer_);
            info.meta = ReadGraph(response.getGraph(), "the graphd at " + peer_);
            for (auto partition : response.getPartitions()) {
              info.partitions.push_back(ReadFeatures(partition, info.meta->schema));
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
              descriptors.add(TakeDescriptor(segments[s].getHandle(), mappings[p].fds[s]));
            }
          }
          descriptors.add(kj::mv(bulk_attached));
          return kj::joinPromises(descriptors.releaseAsArray()).attach(kj::mv(response));
        });
      },
      patience, "the graphd at " + peer_);
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

}  // namespace graphd
