// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <systemd/sd-daemon.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <thread>
#include <utility>

#include "base/directory.h"
#include "base/failure.h"
#include "base/file.h"
#include "base/log.h"
#include "base/memory_limit.h"
#include "base/processor.h"
#include "base/strings.h"
#include "daemon/access/user_directory.h"
#include "daemon/check_config.h"
#include "daemon/graph_switcher.h"
#include "daemon/load.h"
#include "daemon/load_progress.h"
#include "daemon/logging/daemon_log.h"
#include "daemon/metrics/metrics_endpoint.h"
#include "daemon/metrics/peer_addresses.h"
#include "daemon/options.h"
#include "daemon/reloader.h"
#include "daemon/requests/job_file.h"
#include "daemon/requests/job_record_file.h"
#include "daemon/requests/memory_trimmer.h"
#include "daemon/restart/descriptor_store.h"
#include "daemon/restart/switch_record.h"
#include "daemon/serving/data_thread.h"
#include "daemon/serving/drain.h"
#include "daemon/serving/listeners.h"
#include "daemon/serving/thread_watch.h"
#include "daemon/serving/uv_bridge.h"
#include "tls/certificate.h"
#include "tls/record_cipher.h"
#include "wire/ip_config.h"

namespace graphd {
namespace {

constexpr uint64_t kLargePartition = uint64_t{256} << 20;  // larger than any CPU cache
constexpr uint64_t kFirstJobMs = 60000;  // the time --end_with_jobs allows for the first job
// Descriptors that no connection gets, but at most half of all: the store needs them for segments
// of its log, RocksDB's files (512) and new tables.
constexpr uint64_t kReservedDescriptors = 1024;

// The data that the daemon serves.
struct Loaded {
  VersionPtr version;
  std::unique_ptr<store::TensorHost> tensors;
};

// The observer that reports to tensors and steps which jobs attach and leave; used by any thread.
class JobWatch final : public JobRegistry::Observer {
 public:
  JobWatch(GraphVersions& graphs, store::TensorHost& tensors, StepGate& steps)
      : graphs_(graphs), tensors_(tensors), steps_(steps) {}
  void OnJobJoined(const std::string& job_id) override {
    Tell({.job = job_id, .op = "attach"}, " has attached");
    tensors_.OnJobJoined(job_id);
    steps_.OnJobJoined(job_id);
  }
  // Destructors of sessions call these.
  void OnJobLeft(const std::string& job_id) override {
    LogFailure("the end of a job", [&] { Tell({.job = job_id, .op = "leave"}, " has left"); });
    LogFailure("the end of a job", [&] { tensors_.OnJobLeft(job_id); });
    LogFailure("the end of a job", [&] { steps_.OnJobLeft(job_id); });
    LogFailure("the end of a job", [&] { graphs_.OnJobLeft(job_id); });
  }
  void OnJobEnded(const std::string& job_id) override {
    LogFailure("the end of a job", [&] { tensors_.OnJobEnded(job_id); });
    LogFailure("the end of a job", [&] { graphs_.OnJobEnded(job_id); });
  }
  void TrainerLeft(const std::string& job_id, int rank) override {
    LogFailure("the end of a trainer", [&] { steps_.TrainerLeft(job_id, rank); });
  }
  void OnAttemptBegun(const std::string& job_id, uint32_t attempt) override {
    LogFailure("the start of an attempt", [&] { steps_.OnAttemptBegun(job_id, attempt); });
  }

 private:
  // Jobs of graphctl itself are short, and for debugging only.
  static void Tell(const LogFields& fields, const char* what) {
    const bool is_tool = fields.job.starts_with(kToolJobPrefix);
    LogLine(is_tool ? LogLevel::kDebug : LogLevel::kInfo, StrCat("job ", fields.job, what), fields);
  }

  GraphVersions& graphs_;
  store::TensorHost& tensors_;
  StepGate& steps_;
};

// Allows this process as many descriptors as the system permits, and returns their number.
uint64_t RaiseDescriptorLimit() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) ThrowErrno("can't get", "RLIMIT_NOFILE");
  const rlim_t before = std::exchange(limit.rlim_cur, limit.rlim_max);
  return ::setrlimit(RLIMIT_NOFILE, &limit) == 0 ? limit.rlim_max : before;
}

UniqueFd OpenLog(const std::string& path) { return OpenFile(path, O_WRONLY | O_CREAT | O_APPEND); }

// Lets the log be a file, if `path` is not empty. Returns what was the error stream before.
UniqueFd LogTo(const std::string& path) {
  if (path.empty()) return {};
  UniqueFd before(::fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 0));
  const UniqueFd fd = OpenLog(path);
  if (::dup2(fd.get(), STDERR_FILENO) < 0) ThrowErrno("can't log to", path);
  return before;
}

// Returns the options as the configuration has them now. Throws Error, with file, line and key.
DaemonOptions Reread(int argc, char** argv) {
  std::optional<DaemonOptions> read = ParseOptions(argc, argv);
  if (!read) Throw(ErrorCode::kInternal, "these options only print text");
  const std::vector<Error> problems = FindProblems(*read);
  if (problems.empty()) return *std::move(read);
  std::vector<std::string> texts;
  for (const Error& problem : problems) texts.push_back(problem.what());
  Throw(problems.front().code(), Join(texts, "; "));
}

// The daemon's main thread: signals, watchdog and timers by libuv, accepting by KJ. Owns all parts
// of the daemon.
class Graphd {
 public:
  // `reread` returns the options as the configuration has them then; any thread may call it.
  // `log` is the one that lines go to. Closes `starters_stderr` when the daemon serves: later
  // errors are not those of whoever has started it.
  Graphd(const DaemonOptions& options, DaemonLog& log, UniqueFd& starters_stderr,
         DescriptorStore descriptors, Reloader::Read reread)
      : options_(options),
        log_(log),
        starters_stderr_(starters_stderr),
        reread_(std::move(reread)),
        store_(std::move(descriptors)),
        io_(kj::setupAsyncIo()),
        stop_(kj::newPromiseAndFulfiller<void>()),
        stopping_(stop_.promise.fork()) {
    uv_loop_init(&loop_);
    bridge_ = kj::heap<UvBridge>(io_.unixEventPort, &loop_);
    uv_async_init(&loop_, &stop_async_, [](uv_async_t* handle) {
      static_cast<Graphd*>(handle->data)->stop_.fulfiller->fulfill();
    });
    stop_async_.data = this;
    uv_async_init(&loop_, &keep_async_,
                  [](uv_async_t* handle) { static_cast<Graphd*>(handle->data)->KeepNewGraph(); });
    keep_async_.data = this;
  }

  ~Graphd() {
    for (auto* handle :
         {reinterpret_cast<uv_handle_t*>(&stop_async_),
          reinterpret_cast<uv_handle_t*>(&keep_async_), reinterpret_cast<uv_handle_t*>(&watchdog_),
          reinterpret_cast<uv_handle_t*>(&first_job_), reinterpret_cast<uv_handle_t*>(&check_keys_),
          reinterpret_cast<uv_handle_t*>(&signals_[0]),
          reinterpret_cast<uv_handle_t*>(&signals_[1]), reinterpret_cast<uv_handle_t*>(&hangup_)}) {
      if (handle->type != UV_UNKNOWN_HANDLE && !uv_is_closing(handle)) uv_close(handle, nullptr);
    }
    uv_run(&loop_, UV_RUN_DEFAULT);
    bridge_ = nullptr;
    uv_loop_close(&loop_);
  }

  void Run() {
    // Signals are watched before there is a socket that they would leave behind. OnSignal is called
    // when the loop turns, which is not before all is bound.
    WatchSignals();
    LogInfo("this process uses ", VectorBitsText());
    // Bind all before loading: a clash is reported at once, not after minutes.
    if (!options_.keys.empty()) {
      tls_ = std::make_unique<TlsServer>(options_.keys, options_.server_name);
      LogInfo("TCP connections are encrypted by ", RecordCipherLibrary());
    }
    if (!options_.secret.empty()) {
      secret_ = std::make_unique<SecretServer>(options_.secret, options_.server_name);
    }
    AccessRules access(WithOwnCertificate(options_.access));
    const bool insecure = options_.access.insecure;
    listeners_.emplace(
        ListenOptions{options_.address, options_.port, options_.allows_beyond_loopback(),
                      options_.runtime_dir, options_.server_name, SocketMode(access)},
        store_);
    Listener* const tcp = listeners_->tcp();
    Listener& local = listeners_->local();
    // The metrics end before what they are made of.
    std::optional<LoadProgress> progress;
    progress.emplace(options_.server_name, local.text());
    PeerAddresses metrics_peers(options_.metrics_peers);
    std::unique_ptr<MetricsEndpoint> metrics;
    if (!options_.metrics_address.empty()) {
      metrics = std::make_unique<MetricsEndpoint>(options_.metrics_address, options_.metrics_port,
                                                  options_.metrics_insecure,
                                                  [&metrics_peers] { return metrics_peers.Get(); });
      LogInfo("metrics are at http://", metrics->text(), "/metrics");
    }
    if (metrics) {
      metrics->ShowLoading(options_.server_name, [&progress] { return progress->bytes(); });
    }
    Loaded loaded = Load(*progress);
    const std::string graph_name = loaded.version->graph->meta().graph_name;
    AdviseOnPages(*loaded.version->graph);
    GraphVersions graphs(std::exchange(loaded.version, nullptr));
    store::TensorHost& tensors = *loaded.tensors;

    DaemonInfo info;
    info.server_name = options_.server_name;
    if (tcp) info.listening.push_back(tcp->text());
    info.listening.push_back(local.text());
    info.insecure = insecure;
    info.ends_with_jobs = options_.end_with_jobs;
    RequestsInFlight in_flight;
    WorkerPools pools(options_.compute_threads, tensors.memory_is_bounded());
    Drain drain(tensors, io_.provider->getTimer());
    drain_ = &drain;
    info.request_stop = [this, &drain](double seconds) {
      drain.EndWithin(seconds);
      uv_async_send(&stop_async_);
    };
    info.write_timeout = std::chrono::seconds(options_.write_timeout);
    WatchedThread::SetLongest(std::chrono::seconds(options_.hang_timeout));
    info.set_log_level = [this](LogLevel level) { return reloader_->SetLogLevel(level); };
    info.prepare_switch = [this](const SwitchRequest& request) {
      return switcher_->Prepare(request);
    };
    info.reload = [this](const std::string& by) { return reloader_->Request(by); };
    const auto pushes = std::make_shared<FairPushes>();
    StepGate steps(tensors, pushes);
    JobWatch watch(graphs, tensors, steps);
    JobRegistry jobs(
        options_.end_with_jobs, [this] { uv_async_send(&stop_async_); }, &watch);
    JobFile job_file(JobsPath(options_));
    job_file.Keep(jobs);
    JobBoard board;
    JobRecordFile record_file(JobRecordsPath(options_));
    record_file.Keep(board);
    store::CheckpointCatalog checkpoints(CheckpointsDirectory(options_), StoreName(options_));
    RequestCounters counters;
    PeerMemory memory(PeerMemoryLimit(options_));
    const std::string endpoints = tcp ? StrCat(tcp->text(),
                                               tls_      ? " (TLS)"
                                               : secret_ ? " (shared secret)"
                                                         : "",
                                               " and ", local.text())
                                      : StrCat(local.text(), ", and not over TCP (--listen)");
    const std::string serving = StrCat("serving '", graph_name, "' at ", endpoints);
    reloader_.emplace(
        options_, [this, &graphs] { return ReadAsRunning(graphs); },
        [&, socket = local.text()](const DaemonOptions& read) {
          Apply(read, access, info, memory, socket);
          metrics_peers.Set(read.metrics_peers);
        },
        serving);
    // A reload that runs ends before what it changes.
    const auto end_of_reloads = kj::defer([this] { reloader_.reset(); });
    switcher_.emplace(graphs, SwitcherHooks(graphs), options_.part_config, SwitchPath(options_));
    // The threads that use it have ended by then.
    const auto end_of_switches = kj::defer([this] { switcher_.reset(); });
    ServiceContext context{access,
                           graphs,
                           tensors,
                           checkpoints,
                           steps,
                           *pushes,
                           jobs,
                           board,
                           pools,
                           counters,
                           in_flight,
                           memory,
                           BufferPool::Create(),
                           tls_.get(),
                           secret_.get()};
    if (metrics) {
      metrics->Serve([this, &context,
                      &info] { return NumbersOf(context, info, connections_, max_connections_); },
                     [this] { return threads_.IsAlive(); });
    }
    progress.reset();
    // The metrics end before what they are made of.
    const auto end_of_metrics = kj::defer([&metrics] { metrics = nullptr; });
    MemoryTrimmer trimmer(context.buffers);
    const auto trimming = TrimMemory(trimmer).eagerlyEvaluate(nullptr);
    const auto telling = TellLeftOut().eagerlyEvaluate(nullptr);
    std::deque<DataThread> data_threads;
    kj::TaskSet beating(task_errors_);
    for (size_t i = 0; i < options_.data_threads; i++) {
      DataThread& thread = data_threads.emplace_back(context, info);
      beating.add(thread.Beat(StrCat("data ", i)));
    }
    const auto watching = WatchThreads().eagerlyEvaluate(nullptr);

    StartTimers(jobs);
    if (hangup_while_loading_) reloader_->RequestQuietly("SIGHUP");
    UserDirectory users;
    size_t next_thread = 0;
    kj::TaskSet connections(task_errors_);
    const auto serve = [&](UniqueFd fd, Peer peer) {
      if (connections_.open >= max_connections_) {
        connections_.refused_by_limit++;
        LogWarning({.peer = peer.LogName(), .op = "connect"}, "refusing ", peer.text, ": ",
                   connections_.open, " connections are open; raise ", "--max_connections");
        return;
      }
      // Descriptors are numbered from the lowest that is free.
      if (static_cast<uint64_t>(fd.get()) >= descriptors_ - reserved_descriptors()) {
        connections_.refused_by_descriptors++;
        LogWarning({.peer = peer.LogName(), .op = "connect"}, "refusing ", peer.text, ": ",
                   descriptors_ - fd.get(), " of ", descriptors_,
                   " descriptors are free, which are kept for the store; close connections, or ",
                   "raise the limit (LimitNOFILE= of the service, ulimit -n)");
        return;
      }
      connections_.open++;
      connections_.accepted++;
      DataThread& thread = data_threads[next_thread++ % data_threads.size()];
      const std::string peer_name = peer.LogName();
      // Over TCP without a handshake, it is the user who counts.
      kj::Promise<void> served = kj::READY_NOW;
      if (!peer.is_unix && peer.uid && !tls_ && !secret_) {
        const uid_t user = *peer.uid;
        served = users.Find(user, io_.provider->getTimer())
                     .then([&thread, fd = std::move(fd),
                            peer = std::move(peer)](std::vector<gid_t> gids) mutable {
                       peer.gids = std::move(gids);
                       return thread.Serve(std::move(fd), std::move(peer));
                     });
      } else {
        served = thread.Serve(std::move(fd), std::move(peer));
      }
      connections.add(served
                          .catch_([name = peer_name](const kj::Exception& exception) {
                            // A misbehaving peer ends its own connection, nothing else.
                            LogWarning({.peer = name, .op = "connection"}, "connection of ", name,
                                       ": ", exception.getDescription().cStr());
                          })
                          .attach(kj::defer([this] { connections_.open--; })));
    };
    if (tcp && insecure) {
      LogWarning("--insecure: everyone who reaches ", tcp->text(),
                 " may do everything but stop this server");
    }
    LogInfo(serving);
    kj::Promise<void> accepting_tcp = kj::NEVER_DONE;
    if (tcp) accepting_tcp = tcp->Accept(io_.unixEventPort, serve).eagerlyEvaluate(nullptr);
    auto accepting_unix = local.Accept(io_.unixEventPort, serve).eagerlyEvaluate(nullptr);
    sd_notifyf(0, "READY=1\nSTATUS=%s", serving.c_str());
    starters_stderr_ = {};

    stopping_.addBranch().wait(io_.waitScope);
    LogInfo("stopping");
    jobs.Close();
    sd_notify(0, "STOPPING=1\nSTATUS=stopping");
    in_flight.Refuse();
    const bool requests_ended =
        drain.EndRequests([&] { return in_flight.NumUnderWay() == 0; }, [&] { pools.Stop(); })
            .wait(io_.waitScope);
    if (!requests_ended) {
      LogWarning("requests are given up that have not ended; the jobs repeat them");
    }
    // A change of such a request would be lost.
    tensors.RefusePushes();
    switcher_->Stop();
    pushes->Stop();
    const bool written = drain.Run().wait(io_.waitScope);
    if (requests_ended && written) return;
    if (!written) LogWarning("stopping before all is done: ", drain.WhatIsLeft());
    listeners_.reset();
    std::_Exit(0);
  }

 private:
  static uint64_t PeerMemoryLimit(const DaemonOptions& options) {
    return options.peer_memory != 0 ? options.peer_memory : PeerMemory::DefaultLimit(TotalMemory());
  }

  // Returns the configuration as it is now. If the server was switched to the part config of the
  // file, that does not count as a change.
  DaemonOptions ReadAsRunning(const GraphVersions& graphs) const {
    DaemonOptions read = reread_();
    if (IsSamePartConfig(read.part_config, graphs.current()->part_config)) {
      read.part_config = options_.part_config;
    }
    return read;
  }

  GraphSwitcher::Hooks SwitcherHooks(const GraphVersions& graphs) {
    GraphSwitcher::Hooks hooks;
    hooks.configured = [this] { return AbsolutePath(reread_().part_config); };
    hooks.load = [this, &graphs](const std::string& part_config, const std::string& id,
                                 const std::function<void(uint64_t, uint64_t)>& progress) {
      return LoadAnother(options_, part_config, id, *graphs.current(), progress);
    };
    hooks.keep = [this](std::shared_ptr<const KeptGraph> graph) {
      const MutexLock lock(new_graph_mutex_);
      new_graph_ = std::move(graph);
      uv_async_send(&keep_async_);
    };
    return hooks;
  }

  // Gives the graph of a switch to the service manager, on the thread that uses the store.
  void KeepNewGraph() {
    std::shared_ptr<const KeptGraph> graph;
    {
      const MutexLock lock(new_graph_mutex_);
      graph = std::exchange(new_graph_, nullptr);
    }
    if (graph) KeepGraph(*graph, store_);
  }

  // Applies the options that can change while the daemon serves; all of them or, if this throws,
  // none. Called by the reloader's thread.
  void Apply(const DaemonOptions& read, AccessRules& access, DaemonInfo& info, PeerMemory& memory,
             const std::string& socket) {
    // Opening the file again also lets logrotate move it.
    const UniqueFd log = read.log_file.empty() ? UniqueFd() : OpenLog(read.log_file);
    AccessRules::Options rules = read.access;
    rules.insecure = options_.access.insecure;
    access.Replace(WithOwnCertificate(rules));
    if (log && ::dup2(log.get(), STDERR_FILENO) < 0) {
      LogWarning("can't log to ", read.log_file, ": ", std::strerror(errno));
    }
    Listener::SetMode(socket, SocketMode(access));
    max_connections_ = read.max_connections;
    info.write_timeout = std::chrono::seconds(read.write_timeout);
    WatchedThread::SetLongest(std::chrono::seconds(read.hang_timeout));
    memory.SetLimit(PeerMemoryLimit(read));
  }

  // If others than the daemon's group have a role, everyone may connect, and is asked for a role.
  static mode_t SocketMode(const AccessRules& access) {
    return access.has_outsiders() ? 0666 : 0660;
  }

  // Returns the rules with the name of the client certificate beside the daemon's own keys.
  AccessRules::Options WithOwnCertificate(AccessRules::Options rules) const {
    if (tls_ && tls_->directory().Has("client.pem")) {
      const KeyDirectory& keys = tls_->directory();
      rules.own_certificate =
          Certificate::FromPem(keys.Read("client.pem"), keys.PathOf("client.pem")).name();
    }
    return rules;
  }

  uint64_t reserved_descriptors() const noexcept {
    return std::min(kReservedDescriptors, descriptors_ / 2);
  }

  // Returns true if no thread hangs; false also if memory for the check can't be allocated.
  bool NoThreadHangs() {
    bool none = false;
    LogFailure("the watch of threads", [&] { none = threads_.Check(); });
    return none;
  }

  kj::Promise<void> WatchThreads() {
    return io_.provider->getTimer()
        .afterDelay(ThreadWatch::kPeriod.count() * kj::SECONDS)
        .then([this] {
          NoThreadHangs();
          return WatchThreads();
        });
  }

  kj::Promise<void> TrimMemory(MemoryTrimmer& trimmer) {
    return io_.provider->getTimer()
        .afterDelay(MemoryTrimmer::kPeriod.count() * kj::SECONDS)
        .then([this, &trimmer] {
          LogFailure("the trimming of memory", [&] { trimmer.Run(); });
          return TrimMemory(trimmer);
        });
  }

  // Tells every few seconds which lines of the log were left out.
  kj::Promise<void> TellLeftOut() {
    return io_.provider->getTimer().afterDelay(DaemonLog::kTellSeconds * kj::SECONDS).then([this] {
      log_.TellLeftOut();
      return TellLeftOut();
    });
  }

  struct LogErrors final : kj::TaskSet::ErrorHandler {
    void taskFailed(kj::Exception&& exception) override {
      LogWarning({.op = "connection"}, "connection: ", exception.getDescription().cStr());
    }
  };

  // Advises the administrator: on small pages random reads take up to twice the time.
  static void AdviseOnPages(const ServedGraph& graph) {
    for (const PartitionStatus& partition : graph.status()) {
      uint64_t small = 0;
      for (const PageBytes& each : partition.page_bytes) {
        if (each.pages == PageKindName(PageKind::kSmall)) small = each.bytes;
      }
      if (small < kLargePartition || small < partition.bytes / 2) continue;
      LogWarning(HumanBytes(small), " of the ", HumanBytes(partition.bytes), " of partition ",
                 partition.part, " are on 4 KiB pages; for huge pages write 'advise' to ",
                 "/sys/kernel/mm/transparent_hugepage/shmem_enabled before graphd starts");
    }
  }

  kj::Promise<void> TellLoading(LoadProgress& progress) {
    return io_.provider->getTimer()
        .afterDelay(LoadProgress::kTellMilliseconds * kj::MILLISECONDS)
        .then([this, &progress] {
          progress.Tell();
          return TellLoading(progress);
        });
  }

  // Loads on a thread of its own, so that signals are handled meanwhile: a signal to stop ends the
  // process here.
  Loaded Load(LoadProgress& progress) {
    auto loaded = kj::newPromiseAndCrossThreadFulfiller<void>();
    // The fulfiller is behind a pointer, because its destructor may throw.
    auto fulfiller = std::make_shared<decltype(loaded.fulfiller)>(kj::mv(loaded.fulfiller));
    Loaded loaded_parts;
    std::thread loader([this, fulfiller, &loaded_parts, &progress] {
      try {
        loaded_parts.version =
            LoadGraph(options_, store_,
                      [&progress](uint64_t done, uint64_t total) { progress.Set(done, total); });
        loaded_parts.tensors = LoadTensors(options_, *loaded_parts.version->graph,
                                           [this] { return next_process_follows_.load(); });
        (*fulfiller)->fulfill();
      } catch (...) {
        (*fulfiller)->reject(ToKj(CurrentError()));
      }
    });
    try {
      const auto telling = TellLoading(progress).eagerlyEvaluate(nullptr);
      auto interrupted = stopping_.addBranch().then([this] {
        LogInfo("stopped while loading");
        listeners_.reset();
        std::_Exit(0);
      });
      loaded.promise.exclusiveJoin(kj::mv(interrupted)).wait(io_.waitScope);
      loader.join();
      return loaded_parts;
    } catch (const kj::Exception& exception) {
      loader.join();
      throw FromKj(exception, "loading");
    }
  }

  void WatchSignals() {
    const int numbers[] = {SIGTERM, SIGINT};
    for (int i = 0; i < 2; i++) {
      uv_signal_init(&loop_, &signals_[i]);
      signals_[i].data = this;
      uv_signal_start(
          &signals_[i],
          [](uv_signal_t* handle, int number) {
            static_cast<Graphd*>(handle->data)->OnSignal(number);
          },
          numbers[i]);
    }
    uv_signal_init(&loop_, &hangup_);
    hangup_.data = this;
    uv_signal_start(
        &hangup_,
        [](uv_signal_t* handle, int) {
          auto* self = static_cast<Graphd*>(handle->data);
          // While the daemon loads, its file may have changed since it was read.
          self->hangup_while_loading_ = !self->reloader_;
          if (self->reloader_) self->reloader_->RequestQuietly("SIGHUP");
        },
        SIGHUP);
    bridge_->Kick();
  }

  // The first signal asks the daemon to stop, another one to stop at once. With SIGINT the service
  // manager says that it will start the next process (RestartKillSignal= of the unit). It is not a
  // signal of its own, because it may reach a daemon that is older than the unit.
  void OnSignal(int number) {
    was_terminated_ |= number == SIGTERM;
    listeners_->LeaveToNextProcess(!was_terminated_);
    next_process_follows_ = !was_terminated_ && DescriptorStore::available();
    if (!stop_.fulfiller->isWaiting() && drain_ != nullptr) drain_->EndWithin(0);
    stop_.fulfiller->fulfill();
  }

  void StartTimers(const JobRegistry& jobs) {
    uint64_t watchdog_usec = 0;
    if (sd_watchdog_enabled(0, &watchdog_usec) > 0) {
      uv_timer_init(&loop_, &watchdog_);
      const uint64_t every_ms = std::max<uint64_t>(watchdog_usec / 2000, 1);
      watchdog_.data = this;
      // Notified only while no thread hangs: otherwise systemd starts the daemon again. It does
      // not watch a daemon that stops, but would from such a message on, and kill it.
      uv_timer_start(
          &watchdog_,
          [](uv_timer_t* handle) {
            auto* self = static_cast<Graphd*>(handle->data);
            const bool serves = self->stop_.fulfiller->isWaiting();
            if (self->NoThreadHangs() && serves) sd_notify(0, "WATCHDOG=1");
          },
          0, every_ms);
    }
    if (tls_ || secret_) {
      uv_timer_init(&loop_, &check_keys_);
      check_keys_.data = this;
      uv_timer_start(
          &check_keys_,
          [](uv_timer_t* handle) {
            const auto* self = static_cast<Graphd*>(handle->data);
            LogFailure("reading keys", [&] {
              if (self->tls_) self->tls_->CheckFiles();
              if (self->secret_) self->secret_->CheckFile();
            });
          },
          TlsServer::kCheckMs, TlsServer::kCheckMs);
    }
    if (options_.end_with_jobs) {
      jobs_ = &jobs;
      uv_timer_init(&loop_, &first_job_);
      first_job_.data = this;
      uv_timer_start(
          &first_job_,
          [](uv_timer_t* handle) {
            auto* self = static_cast<Graphd*>(handle->data);
            if (self->jobs_->num_jobs() > 0) return;
            LogInfo("no job attached within ", kFirstJobMs / 1000, " s");
            self->stop_.fulfiller->fulfill();
          },
          kFirstJobMs, 0);
    }
    bridge_->Kick();
  }

  const DaemonOptions& options_;
  DaemonLog& log_;
  UniqueFd& starters_stderr_;
  const Reloader::Read reread_;
  bool hangup_while_loading_ = false;
  bool was_terminated_ = false;            // by SIGTERM
  std::optional<Reloader> reloader_;       // exists while the daemon serves
  std::optional<GraphSwitcher> switcher_;  // likewise
  std::atomic<uint64_t> max_connections_{options_.max_connections};
  DescriptorStore store_;                           // the loading thread's while it loads
  std::atomic<bool> next_process_follows_ = false;  // see OnSignal; the store asks at its end
  std::optional<Listeners> listeners_;
  std::unique_ptr<TlsServer> tls_;        // null: TCP without TLS
  std::unique_ptr<SecretServer> secret_;  // null: TCP without a shared secret
  kj::AsyncIoContext io_;
  kj::PromiseFulfillerPair<void> stop_;
  kj::ForkedPromise<void> stopping_;
  LogErrors task_errors_;
  uv_loop_t loop_{};
  uv_async_t stop_async_{}, keep_async_{};
  Mutex new_graph_mutex_;
  std::shared_ptr<const KeptGraph> new_graph_ GRAPHD_GUARDED_BY(new_graph_mutex_);
  uv_timer_t watchdog_{}, first_job_{}, check_keys_{};
  uv_signal_t signals_[2]{}, hangup_{};
  const uint64_t descriptors_ = RaiseDescriptorLimit();
  const JobRegistry* jobs_ = nullptr;
  ConnectionCounters connections_;
  Drain* drain_ = nullptr;  // exists while the daemon serves
  ThreadWatch threads_;
  kj::Own<UvBridge> bridge_;
};

}  // namespace
}  // namespace graphd

int main(int argc, char** argv) {
  using namespace graphd;
  std::optional<DaemonLog> log;
  const auto no_sink = kj::defer([] { SetLogSink(nullptr); });
  UniqueFd starters_stderr;  // until the daemon serves, if the log is another file
  const auto log_last = [&log, &starters_stderr](const char* text) {
    if (log) log->WriteToStream();
    LogError(text);
    if (starters_stderr) ::dprintf(starters_stderr.get(), "graphd: %s\n", text);
  };
  try {
    const std::optional<DaemonOptions> options = ParseOptions(argc, argv);
    if (!options) return 0;
    if (options->check_config) return CheckConfig(*options);
    SetLogLevel(options->log_level);
    starters_stderr = LogTo(options->log_file);
    ::signal(SIGPIPE, SIG_IGN);
    SetLogSink(&log.emplace(options->server_name));
    const auto reread = [argc, argv] { return Reread(argc, argv); };
    Graphd(*options, *log, starters_stderr, DescriptorStore::FromServiceManager(), reread).Run();
    return 0;
  } catch (const Error& error) {
    log_last(error.what());
    sd_notifyf(0, "STATUS=%s", error.what());
    return ExitCode(error.code());
  } catch (const kj::Exception& exception) {
    log_last(exception.getDescription().cStr());
  } catch (const std::exception& error) {
    log_last(error.what());
  }
  return ExitCode(ErrorCode::kInternal);
}
