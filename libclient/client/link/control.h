// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "tls/shared_secret.h"
#include "tls/tls_keys.h"
#include "wire/control_messages.h"
#include "wire/memory_use.h"
#include "wire/status.h"

// The client that graphctl uses to control one daemon: it asks for its status, joins jobs and shuts
// it down. Calls are blocking; a call that takes longer than the timeout given to Connect or
// SetTimeout throws Error(kDeadline). If the connection to a Unix socket ends before the daemon has
// answered any call, because it was replaced by its next process, the client connects again. Not
// thread-safe, and at most one ControlClient may live per thread (it owns the thread's event loop).
// A ControlClient that joined a job is a member until it is destroyed or its process ends for any
// reason.

namespace graphd {

class ControlClient {
 public:
  // Throws Error(kUnavailable) if nothing answers there, Error(kVersion) if it speaks another
  // protocol.
  static std::unique_ptr<ControlClient> ConnectUnix(const std::string& socket_path,
                                                    std::chrono::milliseconds timeout);
  // With `keys`, over TLS; with `secret`, after its handshake.
  static std::unique_ptr<ControlClient> ConnectTcp(const std::string& address, uint16_t port,
                                                   std::chrono::milliseconds timeout,
                                                   TlsKeys* keys = nullptr,
                                                   SecretFile* secret = nullptr);
  ~ControlClient();

  // Sets the timeout of every later call.
  void SetTimeout(std::chrono::milliseconds timeout);

  ServerStatus Status();
  // Registers this process as a member of a job until this object is destroyed.
  void JoinJob(const JobMember& member);
  // Tells the daemon what is known about hosts of a job, and returns what it knows about all of
  // them. Throws Error(kUnavailable) unless the job is attached there or was a short while ago, and
  // Error(kDenied) for another secret than the job's.
  std::vector<JobHost> Report(const JobRecord& record, const std::string& secret);
  // Asks the daemon to end: it refuses new jobs, writes changed rows back, ends its connections,
  // and exits 0. After `timeout_seconds`, if that is not negative, it ends even if rows are not
  // written back. Only over the Unix socket (Error(kDenied) otherwise). Throws Error(kExists) if
  // jobs are attached and `force` is false.
  void Shutdown(bool force, double timeout_seconds = -1);

  // The calls of operators, over the Unix socket only; each throws Error(kDenied) otherwise. `by`
  // is the operator's name for the log and for those who are refused, and `reason` may be empty;
  // both have at most 256 bytes.

  // Refuses new jobs, or takes them again. Returns whether that changed anything.
  bool Drain(bool on, const std::string& by, const std::string& reason);
  // Closes a job's connections, and refuses its processes for two minutes. Returns how many it had.
  // Throws Error(kNotFound) if the daemon has no such job.
  uint32_t EndJob(const std::string& job_id, const std::string& by, const std::string& reason);

  // Sets the level of the log until the next start or reload. Returns the name of the previous one.
  std::string SetLogLevel(const std::string& level, const std::string& by);
  // Reads the daemon's configuration again, and returns what differed. A mistake in it is an Error
  // that names file, line and key, and changes nothing.
  std::vector<ChangedOption> Reload(const std::string& by);
  // Returns the oldest requests that the daemon has not answered, at most `most`.
  OldestRequests Requests(uint32_t most);
  // Returns what the daemon's memory holds: the largest arrays and shares of tensors, at most
  // `most` of each, and sums over all.
  MemoryUse Memory(uint32_t most);

  // Lets the daemon load another version of the graph (wire/control.capnp); Progress then fails
  // with the Error that this causes. Until Commit, the end of this object gives the memory back.
  // `id` has at most 64 bytes. Throws Error(kExists) while another switch is prepared.
  void PrepareSwitch(const std::string& part_config, const std::string& id, const std::string& by);
  SwitchProgress ProgressOfSwitch();
  Switched CommitSwitch();

 private:
  struct Impl;
  explicit ControlClient(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace graphd
