// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <functional>
#include <memory>
#include <string>

#include "ctl/hosts/event_queue.h"
#include "ctl/plan/launch_plan.h"

// A connection to `graphctl supervise` on one host: a child process on this machine, a channel of
// an ssh session or an srun on others. Its frames and stray output are added to the EventQueue,
// followed by one kClosed at the end.

namespace graphd::ctl {

// The settings for connecting to remote hosts.
struct SshOptions {
  int port = 0;             // 0: that of ssh's configuration, else 22
  std::string username;     // empty: that of ssh's configuration, else ours
  std::string config_file;  // empty: ~/.ssh/config and /etc/ssh/ssh_config
  bool accept_new = false;  // unknown hosts are added to known_hosts instead of refused
  double connect_timeout = 10;
  double host_timeout = 20;  // seconds without an acknowledgement until a host is lost
};

class HostLink {
 public:
  // Closes the supervisor's input, which ends its job, and waits for its end.
  virtual ~HostLink() = default;
  // Sends one line to the supervisor. Returns immediately; lines sent after the link has closed are
  // lost.
  virtual void Send(const std::string& line) = 0;
  // Tells the supervisor to end its job. Gives up a link on which no supervisor has been reached.
  virtual void End() { Send("{\"t\":\"end\"}"); }
  // Ends the connection to a host that no longer answers: kClosed follows soon. Does nothing if the
  // link notices by itself that its host is lost.
  virtual void Abandon() {}
};

// Opens the link to a host of a plan, whose index there is `host`. `queue` must outlive the link.
using LinkOpener =
    std::function<std::unique_ptr<HostLink>(size_t host, const HostPlan& plan, EventQueue& queue)>;

}  // namespace graphd::ctl
