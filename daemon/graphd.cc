// SPDX-License-Identifier: Apache-2.0
#include "daemon/graphd.h"

#include <signal.h>
#include <sys/resource.h>
#include <systemd/sd-daemon.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <thread>
#include <utility>
#include <vector>

#include "base/directory.h"
#include "base/failure.h"
#include "base/log.h"
#include "base/memory_limit.h"
#include "base/processor.h"
#include "base/strings.h"
#include "base/threads/watched_thread.h"
#include "daemon/job_watch.h"
#include "daemon/load.h"
#include "daemon/log_file.h"
#include "daemon/requests/job_file.h"
#include "daemon/requests/job_record_file.h"
#include "daemon/requests/memory_trimmer.h"
#include "daemon/restart/switch_record.h"
#include "daemon/serving/data_thread.h"
#include "tls/certificate.h"
#include "tls/record_cipher.h"
#include "wire/ip_config.h"

namespace graphd {
namespace {

constexpr uint64_t kLargePartition = uint64_t{256} << 20;  // larger than any CPU cache
// The time within which the first job must attach if --end_with_jobs is given.
constexpr std::chrono::seconds kFirstJob{60};

// Allows this process as many descriptors as the system permits, and returns their number.
uint64_t RaiseDescriptorLimit() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) ThrowErrno("can't get", "RLIMIT_NOFILE");
  const rlim_t before = std::exchange(limit.rlim_cur, limit.rlim_max);
  return ::setrlimit(RLIMIT_NOFILE, &limit) == 0 ? limit.rlim_max : before;
}

uint64_t PeerMemoryLimit(const DaemonOptions& options) {
  return options.peer_memory != 0 ? options.peer_memory : PeerMemory::DefaultLimit(TotalMemory());
}

// Returns the mode of the Unix socket. If users outside the daemon's group have a role, every user
// may open the socket, and the daemon checks the role of each client.
mode_t SocketMode(const AccessRules& access) { return access.has_outsiders() ? 0666 : 0660; }

// Advises the administrator to use huge pages: on small pages, random reads take up to twice the
// time.
void AdviseOnPages(const ServedGraph& graph) {
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

}  // namespace

Graphd::Graphd(const DaemonOptions& options, DaemonLog& log, UniqueFd& starters_stderr,
               DescriptorStore descriptors, Reloader::Read reread)
    : options_(options),
      log_(log),
      starters_stderr_(starters_stderr),
      reread_(std::move(reread)),
      stop_(kj::newPromiseAndFulfiller<void>()),
      stopping_(stop_.promise.fork()),
      ask_to_stop_(loop_.OnWake([this] { stop_.fulfiller->fulfill(); })),
      keep_new_graph_(loop_.OnWake([this] { KeepNewGraph(); })),
      index_budget_(std::make_shared<IndexBudget>(options.index_memory)),
      store_(std::move(descriptors)) {
  limits_.connections = options.max_connections;
  limits_.descriptors = RaiseDescriptorLimit();
}

void Graphd::Run() {
  // Signals are watched before there is a socket file: a signal that ended the process would leave
  // the file behind. Signals are handled when the loop runs, which is after all sockets are bound.
  WatchSignals();
  LogInfo("this process uses ", VectorBitsText());
  // Sockets are bound before the graph is loaded, so that an address in use is reported at once,
  // not after minutes.
  ReadKeys();
  AccessRules access(WithOwnCertificate(options_.access));
  Listen(access);
  Listener& local = listeners_->local();
  // These objects are declared before `metrics`, which reads them, so they are destroyed after it.
  std::optional<LoadProgress> progress;
  progress.emplace(options_.server_name, local.text());
  PeerAddresses metrics_peers(options_.metrics_peers);
  std::unique_ptr<MetricsEndpoint> metrics = ShowMetrics(metrics_peers, progress);
  Loaded loaded = Load(*progress);
  const std::string serving =
      StrCat("serving '", loaded.version->graph->meta().graph_name, "' at ", Endpoints());
  AdviseOnPages(*loaded.version->graph);
  GraphVersions graphs(std::exchange(loaded.version, nullptr));
  store::TensorHost& tensors = *loaded.tensors;

  RequestsInFlight in_flight;
  WorkerPools pools(options_.compute_threads, tensors.memory_is_bounded());
  Drain drain(tensors, loop_.timer());
  drain_ = &drain;
  DaemonInfo info;
  SetInfo(info, drain);
  const auto pushes = std::make_shared<FairPushes>();
  StepGate steps(tensors, pushes);
  JobWatch watch(graphs, tensors, steps);
  JobRegistry jobs(options_.end_with_jobs, ask_to_stop_, &watch);
  JobFile job_file(JobsPath(options_));
  job_file.Keep(jobs);
  JobBoard board;
  JobRecordFile record_file(JobRecordsPath(options_));
  record_file.Keep(board);
  store::CheckpointCatalog checkpoints(CheckpointsDirectory(options_), StoreName(options_));
  RequestCounters counters;
  PeerMemory memory(PeerMemoryLimit(options_));
  reloader_.emplace(
      options_, [this, &graphs] { return ReadAsRunning(graphs); },
      [&, socket = local.text()](const DaemonOptions& read) {
        Apply(read, access, info, memory, socket);
        metrics_peers.Set(read.metrics_peers);
      },
      serving);
  // Runs at the end of this function: a reload that is running must end before the objects that it
  // changes, which are declared above, are destroyed.
  const auto end_of_reloads = kj::defer([this] { reloader_.reset(); });
  switcher_.emplace(graphs, SwitcherHooks(graphs), options_.part_config, SwitchPath(options_));
  // Runs at the end of this function, after the data threads, which use the switcher: they are
  // declared later, so they are destroyed earlier.
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
    metrics->Serve(
        [&, this] { return NumbersOf(context, info, connections_, limits_.connections); },
        [this] { return threads_.IsAlive(); });
  }
  progress.reset();
  // Runs at the end of this function: the metrics end before the objects that they read, which are
  // declared above, are destroyed.
  const auto end_of_metrics = kj::defer([&metrics] { metrics = nullptr; });
  MemoryTrimmer trimmer(context.buffers);
  const auto trimming = loop_.Repeat(MemoryTrimmer::kPeriod, [&trimmer] { trimmer.Run(); });
  const auto telling =
      loop_.Repeat(std::chrono::seconds(DaemonLog::kTellSeconds), [this] { log_.TellLeftOut(); });
  std::deque<DataThread> data_threads;
  std::vector<kj::Promise<void>> beats;
  for (size_t i = 0; i < options_.data_threads; i++) {
    DataThread& thread = data_threads.emplace_back(context, info);
    beats.push_back(thread.Beat(StrCat("data ", i)).eagerlyEvaluate([](kj::Exception&& exception) {
      LogWarning("the watch of a data thread: ", exception.getDescription().cStr());
    }));
  }
  const auto watching = loop_.Repeat(ThreadWatch::kPeriod, [this] { NoThreadHangs(); });
  StartTimers(jobs);
  if (hangup_while_loading_) reloader_->RequestQuietly("SIGHUP");

  // TCP clients that make no handshake (TLS or shared secret) are identified by their users.
  Acceptor acceptor(data_threads, limits_, connections_, !tls_ && !secret_, loop_.timer());
  const auto accept = [&acceptor](UniqueFd fd, Peer peer) {
    acceptor.Accept(std::move(fd), std::move(peer));
  };
  Listener* const tcp = listeners_->tcp();
  if (tcp != nullptr && info.insecure) {
    LogWarning("--insecure: everyone who reaches ", tcp->text(),
               " may do everything but stop this server");
  }
  LogInfo(serving);
  kj::Promise<void> accepting_tcp = kj::NEVER_DONE;
  if (tcp != nullptr) {
    accepting_tcp = tcp->Accept(loop_.events(), accept).eagerlyEvaluate(nullptr);
  }
  const auto accepting_unix = local.Accept(loop_.events(), accept).eagerlyEvaluate(nullptr);
  sd_notifyf(0, "READY=1\nSTATUS=%s", serving.c_str());
  starters_stderr_ = {};

  loop_.RunUntil(stopping_.addBranch());
  LogInfo("stopping");
  jobs.Close();
  sd_notify(0, "STOPPING=1\nSTATUS=stopping");
  in_flight.Refuse();
  const bool requests_ended = loop_.Wait(
      drain.EndRequests([&] { return in_flight.NumUnderWay() == 0; }, [&] { pools.Stop(); }));
  if (!requests_ended) {
    LogWarning("requests are given up that have not ended; the jobs repeat them");
  }
  // Requests that have not ended may still change rows. These changes would not be written back and
  // so be lost, so they are refused.
  tensors.RefusePushes();
  switcher_->Stop();
  pushes->Stop();
  const bool written = loop_.Wait(drain.Run());
  if (requests_ended && written) return;
  if (!written) LogWarning("stopping before all is done: ", drain.WhatIsLeft());
  listeners_.reset();
  std::_Exit(0);
}

void Graphd::WatchSignals() {
  for (const int number : {SIGTERM, SIGINT}) {
    loop_.OnSignal(number, [this, number] { OnStopSignal(number); });
  }
  loop_.OnSignal(SIGHUP, [this] { OnHangup(); });
}

// The first signal asks the daemon to stop, and a second one to stop at once. The service manager
// sends SIGINT if it will start the next process (RestartKillSignal= of the unit), and else
// SIGTERM. A less common signal is not used for this, because after an upgrade, the new unit may
// send it to an older daemon.
void Graphd::OnStopSignal(int number) {
  was_terminated_ |= number == SIGTERM;
  listeners_->LeaveToNextProcess(!was_terminated_);
  next_process_follows_ = !was_terminated_ && DescriptorStore::available();
  if (!stop_.fulfiller->isWaiting() && drain_ != nullptr) drain_->EndWithin(0);
  stop_.fulfiller->fulfill();
}

void Graphd::OnHangup() {
  // A daemon that is loading has already read its configuration, which may have changed since. It
  // therefore reloads once it serves.
  hangup_while_loading_ = !reloader_;
  if (reloader_) reloader_->RequestQuietly("SIGHUP");
}

void Graphd::ReadKeys() {
  if (!options_.keys.empty()) {
    tls_ = std::make_unique<TlsServer>(options_.keys, options_.server_name);
    LogInfo("TCP connections are encrypted by ", RecordCipherLibrary());
  }
  if (!options_.secret.empty()) {
    secret_ = std::make_unique<SecretServer>(options_.secret, options_.server_name);
  }
}

void Graphd::Listen(const AccessRules& access) {
  listeners_.emplace(
      ListenOptions{options_.address, options_.port, options_.allows_beyond_loopback(),
                    options_.runtime_dir, options_.server_name, SocketMode(access)},
      store_);
}

std::unique_ptr<MetricsEndpoint> Graphd::ShowMetrics(const PeerAddresses& peers,
                                                     const std::optional<LoadProgress>& progress) {
  if (options_.metrics_address.empty()) return nullptr;
  auto metrics = std::make_unique<MetricsEndpoint>(options_.metrics_address, options_.metrics_port,
                                                   options_.metrics_insecure,
                                                   [&peers] { return peers.Get(); });
  LogInfo("metrics are at http://", metrics->text(), "/metrics");
  metrics->ShowLoading(options_.server_name, [&progress] { return progress->bytes(); });
  return metrics;
}

Graphd::Loaded Graphd::Load(LoadProgress& progress) {
  auto loaded = kj::newPromiseAndCrossThreadFulfiller<void>();
  // The fulfiller is behind a pointer, because its destructor may throw.
  auto fulfiller = std::make_shared<decltype(loaded.fulfiller)>(kj::mv(loaded.fulfiller));
  Loaded parts;
  std::thread loader([this, fulfiller, &parts, &progress] {
    try {
      parts.version =
          LoadGraph(options_, {index_budget_}, store_,
                    [&progress](uint64_t done, uint64_t total) { progress.Set(done, total); });
      parts.tensors = LoadTensors(options_, *parts.version->graph,
                                  [this] { return next_process_follows_.load(); });
      (*fulfiller)->fulfill();
    } catch (...) {
      (*fulfiller)->reject(ToKj(CurrentError()));
    }
  });
  try {
    const auto telling = loop_.Repeat(std::chrono::milliseconds(LoadProgress::kTellMilliseconds),
                                      [&progress] { progress.Tell(); });
    auto interrupted = stopping_.addBranch().then([this] {
      LogInfo("stopped while loading");
      listeners_.reset();
      std::_Exit(0);
    });
    loop_.Wait(loaded.promise.exclusiveJoin(kj::mv(interrupted)));
    loader.join();
    return parts;
  } catch (const kj::Exception& exception) {
    loader.join();
    throw FromKj(exception, "loading");
  }
}

void Graphd::SetInfo(DaemonInfo& info, Drain& drain) {
  info.server_name = options_.server_name;
  if (const Listener* const tcp = listeners_->tcp()) info.listening.push_back(tcp->text());
  info.listening.push_back(listeners_->local().text());
  info.insecure = options_.access.insecure;
  info.ends_with_jobs = options_.end_with_jobs;
  info.request_stop = [this, &drain](double seconds) {
    drain.EndWithin(seconds);
    ask_to_stop_();
  };
  info.write_timeout = std::chrono::seconds(options_.write_timeout);
  WatchedThread::SetLongest(std::chrono::seconds(options_.hang_timeout));
  info.set_log_level = [this](LogLevel level) { return reloader_->SetLogLevel(level); };
  info.prepare_switch = [this](const SwitchRequest& request) {
    return switcher_->Prepare(request);
  };
  info.reload = [this](const std::string& by) { return reloader_->Request(by); };
}

DaemonOptions Graphd::ReadAsRunning(const GraphVersions& graphs) const {
  DaemonOptions read = reread_();
  if (IsSamePartConfig(read.part_config, graphs.current()->part_config)) {
    read.part_config = options_.part_config;
  }
  return read;
}

GraphSwitcher::Hooks Graphd::SwitcherHooks(const GraphVersions& graphs) {
  GraphSwitcher::Hooks hooks;
  hooks.configured = [this] { return AbsolutePath(reread_().part_config); };
  hooks.load = [this, &graphs](const std::string& part_config, const std::string& id,
                               const std::function<void(uint64_t, uint64_t)>& progress) {
    return LoadAnother(options_, {index_budget_}, part_config, id, *graphs.current(), progress);
  };
  hooks.keep = [this](std::shared_ptr<const KeptGraph> graph) {
    const MutexLock lock(new_graph_mutex_);
    new_graph_ = std::move(graph);
    keep_new_graph_();
  };
  return hooks;
}

void Graphd::KeepNewGraph() {
  std::shared_ptr<const KeptGraph> graph;
  {
    const MutexLock lock(new_graph_mutex_);
    graph = std::exchange(new_graph_, nullptr);
  }
  if (graph) KeepGraph(*graph, store_);
}

void Graphd::Apply(const DaemonOptions& read, AccessRules& access, DaemonInfo& info,
                   PeerMemory& memory, const std::string& socket) {
  // The file is opened again even if its name is the same, because logrotate may have moved it.
  const UniqueFd log = read.log_file.empty() ? UniqueFd() : OpenLogFile(read.log_file);
  AccessRules::Options rules = read.access;
  rules.insecure = options_.access.insecure;
  access.Replace(WithOwnCertificate(rules));
  if (log && ::dup2(log.get(), STDERR_FILENO) < 0) {
    LogWarning("can't log to ", read.log_file, ": ", std::strerror(errno));
  }
  Listener::SetMode(socket, SocketMode(access));
  limits_.connections = read.max_connections;
  info.write_timeout = std::chrono::seconds(read.write_timeout);
  WatchedThread::SetLongest(std::chrono::seconds(read.hang_timeout));
  memory.SetLimit(PeerMemoryLimit(read));
  index_budget_->SetLimit(read.index_memory);
}

AccessRules::Options Graphd::WithOwnCertificate(AccessRules::Options rules) const {
  if (tls_ && tls_->directory().Has("client.pem")) {
    const KeyDirectory& keys = tls_->directory();
    rules.own_certificate =
        Certificate::FromPem(keys.Read("client.pem"), keys.PathOf("client.pem")).name();
  }
  return rules;
}

std::string Graphd::Endpoints() {
  const std::string local = listeners_->local().text();
  const Listener* const tcp = listeners_->tcp();
  if (tcp == nullptr) return StrCat(local, ", and not over TCP (--listen)");
  const char* const protection = tls_ ? " (TLS)" : secret_ ? " (shared secret)" : "";
  return StrCat(tcp->text(), protection, " and ", local);
}

bool Graphd::NoThreadHangs() {
  bool none = false;
  LogFailure("the watch of threads", [&] { none = threads_.Check(); });
  return none;
}

void Graphd::StartTimers(const JobRegistry& jobs) {
  using std::chrono::milliseconds;
  uint64_t watchdog_usec = 0;
  if (sd_watchdog_enabled(0, &watchdog_usec) > 0) {
    // systemd restarts the daemon if notifications stay out, so they are sent only while no thread
    // hangs. They end when the daemon stops: systemd then no longer watches it, but a notification
    // would make systemd watch it again, and kill it.
    loop_.OnTimer({}, milliseconds(std::max<uint64_t>(watchdog_usec / 2000, 1)), [this] {
      const bool serves = stop_.fulfiller->isWaiting();
      if (NoThreadHangs() && serves) sd_notify(0, "WATCHDOG=1");
    });
  }
  if (tls_ || secret_) {
    constexpr milliseconds kPeriod(TlsServer::kCheckMs);
    loop_.OnTimer(kPeriod, kPeriod, [this] {
      LogFailure("reading keys", [&] {
        if (tls_) tls_->CheckFiles();
        if (secret_) secret_->CheckFile();
      });
    });
  }
  if (options_.end_with_jobs) {
    loop_.OnTimer(kFirstJob, {}, [this, &jobs] {
      if (jobs.num_jobs() > 0) return;
      LogInfo("no job attached within ", kFirstJob.count(), " s");
      stop_.fulfiller->fulfill();
    });
  }
}

}  // namespace graphd
