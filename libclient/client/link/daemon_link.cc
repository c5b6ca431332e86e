// SPDX-License-Identifier: Apache-2.0
#include "client/link/daemon_link.h"

#include <sys/socket.h>

#include <algorithm>
#include <mutex>
#include <thread>

#include "base/clock.h"
#include "base/interruptions.h"
#include "base/strings.h"
#include "client/link/book_calls.h"
#include "client/link/daemon_connections.h"
#include "client/link/retry.h"
#include "client/link/take_descriptor.h"
#include "client/link/tell_reads.h"
#include "wire/bounded.h"
#include "wire/graph_messages.h"

namespace graphd {
namespace {

// The time for which a trainer that attaches again waits for the daemon to notice that the
// trainer's old connection is gone.
constexpr auto kStaleMembership = std::chrono::milliseconds(1000);
// The time that a server which is started together with its trainers has to make its directory.
constexpr auto kUnknownServer = std::chrono::milliseconds(5000);
// The pause after the first attempt to attach in the background. Later pauses are longer.
constexpr auto kFirstRetry = std::chrono::milliseconds(10);
// The longest pause between these attempts. It is well below the time for which a restarted daemon
// keeps a job's lease.
constexpr auto kLongestRetry = kFirstRetry * 100;
// The timeout for connecting in such an attempt. It is short because the destructor may have to
// wait for it.
constexpr auto kLongestConnect = std::chrono::milliseconds(2000);

// The time in which a ping must be answered. It needs no work, but at a busy daemon it waits for
// the job's turn, behind large messages of the same job.
constexpr auto kPingLimit = std::chrono::milliseconds(5000);

// The time in which the daemon must accept the last counts of reads.
constexpr auto kLastReadsLimit = std::chrono::milliseconds(500);

// The number of RPCs that Pipelined keeps in flight.
constexpr size_t kInFlight = 8;

// Runs step(0) .. step(count-1), each an RPC, keeping kInFlight of them under way. Must be called
// on the RPC thread.
kj::Promise<void> Pipelined(size_t count, std::function<kj::Promise<void>(size_t)> step) {
  if (count == 1) return step(0);
  struct State {
    std::function<kj::Promise<void>(size_t)> step;
    size_t next = 0, count = 0;
  };
  auto state = kj::heap<State>();
  state->step = std::move(step);
  state->count = count;
  State& s = *state;
  // A lane has one call in flight, and starts the next call when that one is done.
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

// Returns whether a daemon accepts connections at this Unix socket.
bool AnswersAt(const std::string& socket_path, int timeout_ms) {
  try {
    return static_cast<bool>(ConnectUnix(socket_path, timeout_ms));
  } catch (const Error&) {
    return false;
  }
}

}  // namespace

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
  if (!use_unix_) {
    credentials_ = ReadCredentials(options_.keys, options_.secret_file, options_.server_name);
  }
}

DaemonLink::~DaemonLink() {
  TellLastReads();
  {
    const MutexLock lock(keeping_);
    closing_ = true;
  }
  lost_.NotifyAll();
  const auto drop = [this] { connections_ = nullptr; };
  thread_->Run(drop);  // ends an attempt that is under way
  if (keeper_.joinable()) keeper_.join();
  thread_->Run(drop);
}

// Waits a little for the answer, so that the message is written before the connection ends. Ignores
// errors.
void DaemonLink::TellLastReads() noexcept {
  if (broken_) return;
  try {
    // The result's destructor waits; if this thread is interrupted, it drops the call instead, and
    // the counts are lost.
    static_cast<void>(thread_->Start(
        [this]() -> kj::Promise<void> {
          DaemonConnections::Attached* const attached = AttachedFor(Lane::kSmall);
          if (!attached) return kj::READY_NOW;
          KJ_IF_MAYBE (session, attached->session) return TellReads(*session, mapped_reads_);
          return kj::READY_NOW;
        },
        kLastReadsLimit, peer_));
  } catch (const std::exception&) {
    // If there is no memory for a message, none is sent.
  }
}

ClientSocket DaemonLink::Connect(std::chrono::milliseconds patience) const {
  const int timeout_ms = static_cast<int>(patience.count());
  if (use_unix_) return {ConnectUnix(socket_path_, timeout_ms), true};
  ClientSocket socket = ConnectOverTcp(timeout_ms);
  // A busy daemon may read nothing for as long as a call may take, so it counts as vanished only
  // after the timeout of calls.
  constexpr std::chrono::milliseconds kMost = std::chrono::hours(1);
  NoticeVanishedPeer(socket.fd.get(), kClientIdle, kClientProbe,
                     std::clamp(options_.timeout, kClientUnacknowledged, kMost));
  return socket;
}

ClientSocket DaemonLink::ConnectOverTcp(int timeout_ms) const {
  const auto connect = [&] {
    return ConnectTcp(address_.address, address_.port, timeout_ms, credentials_.keys.get(),
                      credentials_.secret.get());
  };
  try {
    return connect();
  } catch (const Error& error) {
    if (error.code() != ErrorCode::kUnavailable || !IsLocalAddress(address_.address) ||
        !AnswersAt(socket_path_, timeout_ms)) {
      throw;
    }
  }
  // A daemon binds its TCP port before its Unix socket. If it has started between the two attempts,
  // this one succeeds.
  try {
    return connect();
  } catch (const Error& error) {
    if (error.code() != ErrorCode::kUnavailable) throw;
    Throw(ErrorCode::kInvalid, "the graphd at ", socket_path_, " does not listen on ",
          HostPort(address_.address, address_.port), ": use its Unix socket ",
          "(GRAPHD_TRANSPORT=auto), or start it with --listen");
  }
}

AttachInfo DaemonLink::Attach(std::shared_ptr<const GraphMeta> known,
                              std::optional<std::string> version) {
  const MutexLock lock(reconnecting_);
  version_ = std::move(version);
  known_ = std::move(known);
  AttachInfo info = AttachPatiently(options_.timeout);
  encodings_ = std::move(info.encodings);
  keeper_ = std::thread([this] { KeepAttached(); });
  return info;
}

AttachInfo DaemonLink::AttachPatiently(std::chrono::milliseconds patience) {
  const auto start = Clock::now();
  auto pause = std::chrono::milliseconds(5);
  for (;;) {
    try {
      const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
          std::max<Clock::duration>(patience - (Clock::now() - start), kFirstRetry));
      return AttachOnce(left, left);
    } catch (const Error& error) {
      // Tries again if the daemon has not started yet or restarts (kUnavailable), and if the rank
      // is still attached (kExists): the daemon may not have noticed the end of this rank's last
      // connection. After the network was cut, it notices the end only when it probes the
      // connection. Other errors are final.
      const auto passed = Clock::now() - start + pause;
      const bool away = error.code() == ErrorCode::kUnavailable;
      const bool was_attached = generation_ > 0;
      const bool is_unknown = !was_attached && use_unix_ && IsUnknownServer(socket_path_);
      const auto absence = is_unknown ? std::min(patience, kUnknownServer) : patience;
      const auto stale = was_attached ? patience : std::min(patience, kStaleMembership);
      if (away ? passed > absence : error.code() != ErrorCode::kExists || passed > stale) {
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

void DaemonLink::ReconnectIfBroken() GRAPHD_NO_THREAD_SAFETY_ANALYSIS {
  const auto asked = Clock::now();
  // The thread that holds the mutex may be waiting for a daemon that does not answer.
  while (!reconnecting_.try_lock()) {
    if (Clock::now() - asked > options_.timeout) {
      Throw(ErrorCode::kUnavailable, "the graphd at ", peer_, " does not answer (waited ",
            options_.timeout.count(), " ms)");
    }
    AwaitTime(std::chrono::milliseconds(1));
  }
  const std::unique_lock lock(reconnecting_, std::adopt_lock);
  if (!broken_) return;
  // Threads attach one after another. If another thread has failed meanwhile, after it had waited
  // until the timeout, this thread does not try again.
  if (failure_ && failed_ > asked) throw Error(*failure_);
  try {
    AttachPatiently(std::chrono::duration_cast<std::chrono::milliseconds>(
        std::max<Clock::duration>(options_.timeout - (Clock::now() - asked), kFirstRetry)));
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

void DaemonLink::Lost(DaemonConnections* connections) {
  if (connections != connections_.get()) return;
  connections->lost = true;
  {
    const MutexLock lock(keeping_);
    broken_ = true;
  }
  lost_.NotifyAll();
}

// Checks the daemon's answer to `attach` before the session is used. Throws Error(kInvalid) if the
// fingerprint of the daemon's files is not `known`, because rows and samples of different files
// must never be mixed. Empty fingerprints are not compared.
void DaemonLink::CheckAnswer(wire::Daemon::AttachResults::Reader answer, const std::string& known) {
  CheckHello(answer.getHello(), "the graphd at " + peer_);
  const std::string now = answer.hasFingerprint() ? answer.getFingerprint().cStr() : "";
  if (known.empty() || now.empty() || now == known) return;
  Throw(ErrorCode::kInvalid, "the graphd at ", peer_, " was started again, and the files of its ",
        "graph have changed meanwhile (fingerprint ", now, ", not ", known,
        "): start the job again");
}

DaemonConnections::Attached* DaemonLink::AttachedFor(Lane lane) {
  if (!connections_) return nullptr;
  return lane == Lane::kBulk && connections_->bulk ? connections_->bulk.get()
                                                   : connections_->small.get();
}

// Ends the connections if the daemon does not answer a ping.
void DaemonLink::Ping(Lane lane) {
  DaemonConnections::Attached* const attached = AttachedFor(lane);
  if (!attached || attached->is_pinged) return;
  attached->is_pinged = true;
  auto answered = attached->daemon.pingRequest().send().then(
      [](auto&&) { return true; },
      [](kj::Exception&& error) { return error.getType() != kj::Exception::Type::DISCONNECTED; });
  auto silent =
      thread_->timer().afterDelay(kPingLimit.count() * kj::MILLISECONDS).then([] { return false; });
  attached->ping =
      answered.exclusiveJoin(kj::mv(silent))
          .then([this, attached, connections = connections_.get()](bool alive) {
            attached->is_pinged = false;
            if (alive) return;
            Lost(connections);
            // The calls that wait for these connections fail now.
            for (const auto& each : {connections->small.get(), connections->bulk.get()}) {
              if (each) ::shutdown(each->number, SHUT_RDWR);
            }
          })
          .eagerlyEvaluate(nullptr);
}

void DaemonLink::KeepAttached() {
  auto pause = kFirstRetry;
  MutexLock lock(keeping_);
  for (;;) {
    while (!closing_ && !broken_) lost_.Wait(keeping_);
    if (closing_) return;
    lock.Unlock();
    try {
      const MutexLock reconnecting(reconnecting_);  // a call may reconnect, too
      if (broken_) AttachOnce(std::min(options_.timeout, kLongestConnect), options_.timeout);
    } catch (...) {  // the next call fails, and reports it
    }
    lock.Lock();
    if (!broken_) {
      pause = kFirstRetry;
      continue;
    }
    const auto next = std::chrono::steady_clock::now() + pause;
    while (!closing_ && lost_.WaitUntil(keeping_, next)) {
    }
    pause = std::min(pause * 2, kLongestRetry);
  }
}

AttachInfo DaemonLink::AttachOnce(std::chrono::milliseconds to_connect,
                                  std::chrono::milliseconds to_answer) {
  ClientSocket small = Connect(to_connect);
  std::optional<ClientSocket> bulk;
  if (!shares_memory()) bulk = Connect(to_connect);
  try {
    AttachInfo info = AttachTo(std::move(small), std::move(bulk), to_answer, meta_ ? meta_ : known_,
                               version_, fingerprint_);
    if (meta_) CheckSameGraph(*meta_, *info.meta, peer_ + " (before)", peer_);
    fingerprint_ = info.fingerprint;
    meta_ = info.meta;
    version_ = info.version;
    known_ = nullptr;
    generation_++;
    // This must come last: otherwise memory that was mapped from the lost daemon would be read as
    // if it belonged to this daemon.
    thread_->Run([this] { broken_ = connections_ == nullptr || connections_->lost; });
    return info;
  } catch (...) {
    thread_->Run([this] { connections_ = nullptr; });
    throw;
  }
}

AttachInfo DaemonLink::AttachTo(ClientSocket small, std::optional<ClientSocket> bulk,
                                std::chrono::milliseconds patience,
                                const std::shared_ptr<const GraphMeta>& known,
                                const std::optional<std::string>& version,
                                const std::string& fingerprint) {
  const bool want_segments = shares_memory();
  AttachInfo info;
  struct Mapping {
    PartId part;
    std::vector<SegmentLayout> layouts;
    std::vector<UniqueFd> fds;
  };
  std::vector<Mapping> mappings;
  std::optional<ReceivedGraph> graph;
  UniqueFd node_owners, edge_owners;
  auto pending = thread_->Start(
      [&]() -> kj::Promise<void> {
        if (closing_) AsKj([] { Throw(ErrorCode::kUnavailable, "the graph is being closed"); });
        connections_ = std::make_unique<DaemonConnections>();
        const auto lost = [this, connections = connections_.get()] { Lost(connections); };
        connections_->small = std::make_unique<DaemonConnections::Attached>(
            thread_->provider(), std::move(small), buffers_, lost);
        kj::Promise<void> bulk_attached = kj::READY_NOW;
        if (bulk) {
          connections_->bulk = std::make_unique<DaemonConnections::Attached>(
              thread_->provider(), std::move(*bulk), buffers_, lost);
          bulk_attached =
              connections_->bulk->Attach(options_, JobRole::kBulk, false, version)
                  .then([this, &fingerprint, attached = connections_->bulk.get()](auto&& response) {
                    AsKj([&] { CheckAnswer(response, fingerprint); });
                    attached->session = response.getSession();
                  });
        }
        auto small_attached = connections_->small->Attach(
            options_, is_worker() ? JobRole::kBulk : JobRole::kTrainer, want_segments, version);
        return small_attached.then([&, bulk_attached = kj::mv(bulk_attached)](
                                       auto&& response) mutable -> kj::Promise<void> {
          kj::Vector<kj::Promise<void>> descriptors;
          AsKj([&] {
            CheckAnswer(response, fingerprint);
            connections_->small->session = response.getSession();
            if (want_segments) {
              connections_->small->telling =
                  KeepTellingReads(thread_->timer(), response.getSession(), mapped_reads_)
                      .eagerlyEvaluate(nullptr);
            }
            graph.emplace(response.getGraph(), "the graphd at " + peer_);
            if (response.hasVersion()) info.version = response.getVersion().cStr();
            if (response.hasFingerprint()) info.fingerprint = response.getFingerprint().cStr();
            for (auto partition : BoundedList(response.getPartitions(), "partitions")) {
              info.partitions.push_back(ReadFeatures(partition, graph->schema()));
              ReadEncodings(partition, info.encodings);
              if (!want_segments) continue;
              Mapping& mapping = mappings.emplace_back();
              mapping.part = partition.getPart();
              for (auto segment : BoundedList(partition.getSegments(), "segments")) {
                mapping.layouts.push_back(ReadLayout(segment, "the graphd at " + peer_));
              }
              mapping.fds.resize(mapping.layouts.size());
            }
          });
          const auto take_owners = [&](wire::IdMap::Reader map, UniqueFd& to) {
            if (map.hasHandle()) descriptors.add(TakeDescriptor(map.getHandle(), to));
          };
          take_owners(response.getGraph().getNodes(), node_owners);
          take_owners(response.getGraph().getEdges(), edge_owners);
          // Take descriptors in a second pass, when `mappings` no longer moves.
          const auto partitions = response.getPartitions();
          for (kj::uint p = 0; want_segments && p < partitions.size(); p++) {
            const auto segments = partitions[p].getSegments();
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
  if (known != nullptr && !graph->missing().empty() && graph->IsSameAs(*known)) {
    info.meta = known;
  } else {
    info.meta =
        graph->Complete([&](const ReceivedGraph::Missing& missing, std::span<int32_t> owners) {
          UniqueFd& fd = missing.is_edge ? edge_owners : node_owners;
          if (fd) return CopyOwners(std::move(fd), owners);
          ReadOwners(*this, missing, owners, patience);
        });
  }
  for (Mapping& mapping : mappings) {
    std::vector<std::shared_ptr<const Segment>> segments;
    for (size_t s = 0; s < mapping.fds.size(); s++) {
      if (!mapping.fds[s]) {
        Throw(ErrorCode::kCorrupt, "the graphd at ", peer_, " sent no descriptor for a segment");
      }
      segments.push_back(Segment::Map(std::move(mapping.fds[s]), std::move(mapping.layouts[s])));
      segments.back()->MapAhead();
    }
    info.mapped.push_back(
        std::make_shared<const Partition>(info.meta, mapping.part, std::move(segments)));
  }
  return info;
}

RpcThread::Pending DaemonLink::StartSteps(Lane lane, size_t count, Step step,
                                          std::optional<std::chrono::milliseconds> patience) {
  (lane == Lane::kBulk ? traffic_->row_messages : traffic_->messages) += count;
  struct Running {
    wire::Session::Client session;
    Step step;
  };
  return thread_->Start(
      [this, lane, count, step = std::move(step)]() mutable -> kj::Promise<void> {
        DaemonConnections::Attached* const attached = AttachedFor(lane);
        if (!attached || attached->session == nullptr) {
          return kj::Exception(kj::Exception::Type::DISCONNECTED, __FILE__, __LINE__,
                               kj::heapString("not attached"));
        }
        // Shared, because functions are copied, but a constant capability cannot be copied, and to
        // copy the step takes time.
        auto running = std::make_shared<Running>(
            Running{KJ_ASSERT_NONNULL(attached->session), std::move(step)});
        auto one = [running, gate = attached->gate](size_t i) {
          return gate->Run([running, i] { return running->step(running->session, i); });
        };
        return Pipelined(count, one)
            .catch_([this, connections = connections_.get()](kj::Exception&& failure) {
              // Mark the link as broken before the call fails, so that a thread that waits for the
              // call sees it.
              if (failure.getType() == kj::Exception::Type::DISCONNECTED) Lost(connections);
              kj::throwFatalException(kj::mv(failure));
            });
      },
      patience.value_or(options_.timeout), "the graphd at " + peer_, [this, lane] { Ping(lane); });
}

}  // namespace graphd
