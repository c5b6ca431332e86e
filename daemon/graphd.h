// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <kj/async.h>

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "base/file.h"
#include "base/threads/mutex.h"
#include "daemon/acceptor.h"
#include "daemon/access/access_rules.h"
#include "daemon/graph_switcher.h"
#include "daemon/load_progress.h"
#include "daemon/logging/daemon_log.h"
#include "daemon/main_loop.h"
#include "daemon/metrics/metrics_endpoint.h"
#include "daemon/metrics/peer_addresses.h"
#include "daemon/options.h"
#include "daemon/reloader.h"
#include "daemon/restart/descriptor_store.h"
#include "daemon/serving/connection_counters.h"
#include "daemon/serving/drain.h"
#include "daemon/serving/listeners.h"
#include "daemon/serving/service_context.h"
#include "daemon/serving/thread_watch.h"

namespace graphd {

// The daemon. Makes its parts, each after the parts that it needs, runs them on the main thread's
// event loop until a signal or an operator asks it to stop, and ends them in the opposite order.
// Constructed and used by the main thread.
class Graphd {
 public:
  // `reread` reads the configuration again and returns the options; any thread may call it. `log`
  // receives the lines of the log. `starters_stderr` is the standard error of whoever has started
  // the daemon. It is closed when the daemon serves, because later errors do not concern the start.
  Graphd(const DaemonOptions& options, DaemonLog& log, UniqueFd& starters_stderr,
         DescriptorStore descriptors, Reloader::Read reread);
  Graphd(const Graphd&) = delete;
  Graphd& operator=(const Graphd&) = delete;

  // Serves until the daemon is asked to stop. Ends the process itself if that happens while the
  // daemon loads, or if requests or the writing of changed rows do not end. Throws Error and
  // kj::Exception.
  void Run();

 private:
  // The data that the daemon serves.
  struct Loaded {
    VersionPtr version;
    std::unique_ptr<store::TensorHost> tensors;
  };

  void WatchSignals();
  void OnStopSignal(int number);
  void OnHangup();
  // Reads the keys or the secret that protect TCP connections.
  void ReadKeys();
  void Listen(const AccessRules& access);
  // Returns null unless there is an address for metrics.
  std::unique_ptr<MetricsEndpoint> ShowMetrics(const PeerAddresses& peers,
                                               const std::optional<LoadProgress>& progress);
  // Loads on a thread of its own, so that signals are handled meanwhile.
  Loaded Load(LoadProgress& progress);
  // Fills in the daemon's description of itself, and the functions that carry out an operator's
  // requests.
  void SetInfo(DaemonInfo& info, Drain& drain);
  // Returns the configuration as it is now. If an operator has switched the server to the part
  // config that the file names now, the part config does not count as changed.
  DaemonOptions ReadAsRunning(const GraphVersions& graphs) const;
  GraphSwitcher::Hooks SwitcherHooks(const GraphVersions& graphs);
  // Gives the graph of a switch to the service manager. Runs on the main thread, which uses the
  // descriptor store.
  void KeepNewGraph();
  // Applies the options that can change while the daemon serves: all of them or, if this throws,
  // none. Called by the reloader's thread.
  void Apply(const DaemonOptions& read, AccessRules& access, DaemonInfo& info, PeerMemory& memory,
             const std::string& socket);
  // Adds the name of the client certificate in the daemon's own directory of keys to the rules.
  AccessRules::Options WithOwnCertificate(AccessRules::Options rules) const;
  // Returns the addresses at which clients reach this daemon, as text for the log.
  std::string Endpoints();
  // Returns true if no thread hangs. Returns false also if there is no memory for the check.
  bool NoThreadHangs();
  void StartTimers(const JobRegistry& jobs);

  const DaemonOptions& options_;
  DaemonLog& log_;
  UniqueFd& starters_stderr_;
  const Reloader::Read reread_;
  MainLoop loop_;
  kj::PromiseFulfillerPair<void> stop_;
  kj::ForkedPromise<void> stopping_;
  const std::function<void()> ask_to_stop_;     // any thread may call it
  const std::function<void()> keep_new_graph_;  // likewise
  bool hangup_while_loading_ = false;
  bool was_terminated_ = false;            // by SIGTERM
  std::optional<Reloader> reloader_;       // exists while the daemon serves
  std::optional<GraphSwitcher> switcher_;  // likewise
  Drain* drain_ = nullptr;                 // likewise
  // Shared by all versions of the graph.
  const std::shared_ptr<IndexBudget> index_budget_;
  DescriptorStore store_;  // used only by the loading thread while it loads
  // Whether the service manager will start the next process of this daemon (see OnStopSignal). The
  // tensor store asks for this when it ends, because the next process can then take over its
  // memory.
  std::atomic<bool> next_process_follows_ = false;
  std::optional<Listeners> listeners_;
  std::unique_ptr<TlsServer> tls_;        // null: TCP without TLS
  std::unique_ptr<SecretServer> secret_;  // null: TCP without a shared secret
  Mutex new_graph_mutex_;
  std::shared_ptr<const KeptGraph> new_graph_ GRAPHD_GUARDED_BY(new_graph_mutex_);
  ConnectionLimits limits_;
  ConnectionCounters connections_;
  ThreadWatch threads_;
};

}  // namespace graphd
