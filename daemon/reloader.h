// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <kj/async.h>

#include <atomic>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/threads/mutex.h"
#include "daemon/options.h"
#include "wire/control_messages.h"

namespace graphd {

// The part of the daemon that reads the configuration again while the daemon serves. It has a
// thread of its own, because the databases of users and the disk may be slow. Owned by the main
// thread; Request may be called by any thread.
class Reloader {
 public:
  // Returns the options as the configuration has them now. Throws Error, with file, line and key.
  using Read = std::function<DaemonOptions()>;
  // Applies the options that a running daemon can change, except the log's level: all of them or,
  // if it throws, none.
  using Apply = std::function<void(const DaemonOptions& options)>;

  // Starts the thread, which calls `read` and `apply`. `status` is the text that the service
  // manager shows unless a reload has failed.
  Reloader(const DaemonOptions& running, Read read, Apply apply, std::string status = "");
  ~Reloader();
  Reloader(const Reloader&) = delete;
  Reloader& operator=(const Reloader&) = delete;

  // Reads and applies the configuration; `by` names the caller in the log. The promise belongs to
  // the calling thread's event loop. It returns the options that differed, or fails with the Error
  // that the configuration caused. Throws Error(kOverloaded) while kMostWaiting requests wait.
  kj::Promise<std::vector<ChangedOption>> Request(const std::string& by);
  // Does the same for a caller who does not wait: the outcome is only logged.
  void RequestQuietly(const std::string& by);

  // Sets the level of the log until the next reload, and returns the previous one. Any thread may
  // call it.
  LogLevel SetLogLevel(LogLevel level) noexcept;

  static constexpr size_t kMostWaiting = 16;

 private:
  using Changes = std::vector<ChangedOption>;
  // The outcome of a reload on its way to the thread that has asked for it.
  struct Outcome {
    Mutex mutex;
    Changes changes GRAPHD_GUARDED_BY(mutex);
    kj::Own<kj::CrossThreadPromiseFulfiller<void>> fulfiller;
  };
  struct Waiting {
    std::string by;
    std::shared_ptr<Outcome> outcome;  // null: nobody waits
  };
  void Put(Waiting waiting);
  void Run();
  void Serve(const Waiting& request);
  Changes Reload(const std::string& by);

  DaemonOptions running_;  // used by the thread only, once it runs
  std::atomic<LogLevel> log_level_;
  const Read read_;
  const Apply apply_;
  const std::string status_;
  Mutex mutex_;
  CondVar wake_;
  std::deque<Waiting> waiting_ GRAPHD_GUARDED_BY(mutex_);
  bool stopping_ GRAPHD_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace graphd
