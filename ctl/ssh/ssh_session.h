// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <libssh/libssh.h>

#include <functional>
#include <memory>
#include <string>

#include "ctl/hosts/host_link.h"

// A thin layer over libssh. An SshSession is connected, has checked the host's key against
// known_hosts, and is logged in by an ssh agent or a key. An SshChannel runs one command in a
// session. Each session, with its channels, belongs to one thread. Errors name the host, the reason
// and a remedy.

namespace graphd::ctl {

class SshSession {
 public:
  // Calls `cancelled` while connecting and while a channel is opened; throws Error(kUnavailable)
  // once it returns true.
  SshSession(std::string host, const SshOptions& options, const std::function<bool()>& cancelled);
  ~SshSession();
  SshSession(const SshSession&) = delete;
  SshSession& operator=(const SshSession&) = delete;

  ssh_session get() const { return session_; }
  int fd() const { return ssh_get_fd(session_); }
  const std::string& host() const { return host_; }
  // The seconds within which the host must open a channel and send its first output.
  double answer_timeout() const { return answer_timeout_; }
  std::string LastError() const { return ssh_get_error(session_); }
  // Repeats a call of libssh that does not block until it returns something else than SSH_AGAIN,
  // and returns that. Throws Error(kUnavailable), with `why`, if that takes longer than `seconds`.
  int Complete(const std::function<int()>& call, double seconds, const std::string& why);

 private:
  void Configure(const SshOptions& options);
  void Connect(const SshOptions& options);
  void CheckHostKey(const SshOptions& options);
  void LogIn();
  void NoticeDeadPeer(double host_timeout);

  std::string host_;
  const std::function<bool()> cancelled_;
  const double answer_timeout_;
  ssh_session session_;
};

class SshChannel {
 public:
  // Runs `command` in the user's login shell on the host. Throws Error(kUnavailable) if the host
  // does not begin to run it within session.answer_timeout() seconds.
  SshChannel(SshSession& session, const std::string& command);
  ~SshChannel();
  SshChannel(const SshChannel&) = delete;
  SshChannel& operator=(const SshChannel&) = delete;

  // Reads available bytes, at most `size`; returns 0 if there are none. Throws Error(kUnavailable)
  // if the connection is broken.
  size_t Read(bool from_stderr, char* bytes, size_t size);
  void Write(const std::string& text);
  // Writes as many of `bytes` as the host accepts now. Returns 0 if it accepts none or the command
  // has ended.
  size_t WriteSome(std::string_view bytes);
  void CloseInput();
  bool AtEnd() const;
  // Returns the command's exit code; -1 if a signal ended it or the host did not report one.
  // Requires: AtEnd().
  int ExitStatus();

 private:
  SshSession& session_;
  ssh_channel channel_;
};

}  // namespace graphd::ctl
