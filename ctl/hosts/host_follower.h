// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "ctl/hosts/event_queue.h"
#include "ctl/hosts/host_link.h"
#include "ctl/plan/launch_plan.h"
#include "ctl/terminal/console.h"

namespace graphd::ctl {

// The base of the classes that send an order to each of several hosts, and show what they answer
// until all have closed their links. Main thread only, with SIGINT, SIGTERM and SIGHUP blocked in
// every thread.
class HostFollower {
 public:
  virtual ~HostFollower() = default;
  HostFollower(const HostFollower&) = delete;
  HostFollower& operator=(const HostFollower&) = delete;

  // Returns the result of Conclude when all links are closed. After a signal, exits the process
  // with 128 + signal. Also exits it if nobody reads standard output any longer.
  int Run();

 protected:
  // `labels` name the hosts in the output.
  HostFollower(std::vector<HostPlan> plans, std::vector<std::string> labels, LinkOpener open);

  // Called for each frame of a host, except the kinds "error" and "hello". `kind`: the kind of the
  // frame.
  virtual void OnFrame(size_t host, const std::string& kind, const HostEvent& event) = 0;
  // Returns whether a host had sent everything before it closed its link. If this returns false and
  // the host has sent no error, the reason why the link was closed becomes the host's error.
  virtual bool HasToldAll(size_t host, const HostEvent& closed) const = 0;
  // Called when a host has closed its link.
  virtual void OnClosed(size_t) {}
  // Called each time when all frames that have arrived are handled.
  virtual void Show() {}
  // Called before the process exits because of a signal.
  virtual void OnSignal() {}
  // Prints what has gone wrong, and returns the exit code.
  virtual int Conclude() = 0;

  size_t num_hosts() const { return plans_.size(); }
  const HostPlan& plan(size_t host) const { return plans_[host]; }
  const std::string& label(size_t host) const { return labels_[host]; }
  bool is_closed(size_t host) const { return states_[host].closed; }
  bool AllClosed() const;
  // Returns the error of a host; empty if there is none. The code has a meaning only if there is an
  // error.
  const std::string& error(size_t host) const { return states_[host].error; }
  ErrorCode code(size_t host) const { return states_[host].code; }
  // Sends a line to the supervisor of a host.
  void Send(size_t host, const std::string& line) { states_[host].link->Send(line); }
  void Print(const std::string& lines) { console_.Add(STDOUT_FILENO, lines); }
  // Writes "graphctl: <text>" to standard error.
  void PrintMessage(const std::string& text);

 private:
  struct State {
    std::unique_ptr<HostLink> link;
    bool closed = false;
    ErrorCode code = ErrorCode::kUnavailable;
    std::string error;
  };
  [[noreturn]] void Leave(int code);
  void OpenLinks();
  void Handle(const HostEvent& event);
  void HandleFrame(const HostEvent& event);

  const std::vector<HostPlan> plans_;
  const std::vector<std::string> labels_;
  const LinkOpener open_;
  EventQueue queue_;
  std::vector<State> states_;
  Console console_;
};

}  // namespace graphd::ctl
