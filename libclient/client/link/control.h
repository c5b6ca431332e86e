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
  // Connects to a socket file. Throws Error(kUnavailable) if nothing answers there, Error(kVersion)
  // if the daemon speaks another version of the protocol.
  static std::unique_ptr<ControlClient> ConnectUnix(const std::string& socket_path,
                                                    std::chrono::milliseconds timeout);
  // Connects to a TCP port: over TLS if `keys` is given, or with a handshake that proves the secret
  // if `secret` is given. Throws as ConnectUnix does.
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
  // Reports to the daemon what this host knows about hosts of a job, and returns what the daemon
  // knows about all hosts of the job. Throws Error(kUnavailable) unless the job is attached to the
  // daemon or was a short while ago, and Error(kDenied) if the secret is not the job's.
  std::vector<JobHost> Report(const JobRecord& record, const std::string& secret);
  // Asks the daemon to end: it refuses new jobs, writes changed rows back, ends its connections,
  // and exits with status 0. After `timeout_seconds`, unless that is negative, it ends even if rows
  // are not written back. Throws Error(kDenied) over TCP, and Error(kExists) if jobs are attached
  // and `force` is false.
  void Shutdown(bool force, double timeout_seconds = -1);

  // The following functions are for operators. They work over the Unix socket only, and throw
  // Error(kDenied) over TCP. `by` is the operator's name, which is written to the log and shown to
  // users who are refused. `reason` may be empty. Both have at most 256 bytes.

  // Makes the daemon refuse new jobs if `on` is true, or accept them again. Returns whether that
  // changed anything.
  bool Drain(bool on, const std::string& by, const std::string& reason);
  // Closes a job's connections, and refuses its processes for two minutes. Returns how many
  // connections the job had. Throws Error(kNotFound) if the daemon has no such job.
  uint32_t EndJob(const std::string& job_id, const std::string& by, const std::string& reason);

  // Sets the level of the log until the next start or reload. Returns the previous level.
  std::string SetLogLevel(const std::string& level, const std::string& by);
  // Makes the daemon read its configuration again, and returns the options that have changed. If
  // the configuration has a mistake, throws an Error that names the file, the line and the key, and
  // nothing changes.
  std::vector<ChangedOption> Reload(const std::string& by);
  // Returns the oldest requests that the daemon has not answered, at most `most`.
  OldestRequests Requests(uint32_t most);
  // Returns what the daemon's memory holds: the largest arrays and shares of tensors, at most
  // `most` of each, and sums over all.
  MemoryUse Memory(uint32_t most);

  // Makes the daemon load another version of the graph (wire/control.capnp). If loading fails,
  // ProgressOfSwitch throws the Error. The daemon frees the memory again if this object is
  // destroyed before CommitSwitch. `id` has at most 64 bytes. Throws Error(kExists) while another
  // switch is being prepared.
  void PrepareSwitch(const std::string& part_config, const std::string& id, const std::string& by);
  SwitchProgress ProgressOfSwitch();
  Switched CommitSwitch();

 private:
  struct Impl;
  explicit ControlClient(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace graphd
