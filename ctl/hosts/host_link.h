// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <functional>
#include <memory>
#include <string>

#include "ctl/hosts/event_queue.h"
#include "ctl/plan/launch_plan.h"

// Defines HostLink, a connection to `graphctl supervise` on one host. On this machine, that is a
// child process; other hosts are reached by a channel of an ssh session or by srun. A link adds the
// frames and all other output of the supervisor to the EventQueue, and one event kClosed at the
// end.

namespace graphd::ctl {

// The settings for connecting to remote hosts.
struct SshOptions {
  int port = 0;             // 0: that of ssh's configuration, else 22
  std::string username;     // empty: that of ssh's configuration, else ours
  std::string config_file;  // empty: ~/.ssh/config and /etc/ssh/ssh_config
  bool accept_new = false;  // unknown hosts are added to known_hosts instead of refused
  double connect_timeout = 10;
  double host_timeout = 20;  // a host is lost after so many seconds without an acknowledgement
};

class HostLink {
 public:
  // Closes the supervisor's input, so that the supervisor ends its job, and waits until the
  // supervisor has ended.
  virtual ~HostLink() = default;
  // Sends one line to the supervisor. Returns immediately; lines sent after the link has closed are
  // lost.
  virtual void Send(const std::string& line) = 0;
  // Tells the supervisor to end its job. If no supervisor has answered over this link yet, gives up
  // the link.
  virtual void End() { Send("{\"t\":\"end\"}"); }
  // Ends the connection to a host that no longer answers, so that the event kClosed follows soon.
  // Does nothing for links that notice by themselves that their host is lost.
  virtual void Abandon() {}
};

// A function that opens the link to a host of a plan. `host`: the index of the host in the plan.
// `queue` must outlive the link.
using LinkOpener =
    std::function<std::unique_ptr<HostLink>(size_t host, const HostPlan& plan, EventQueue& queue)>;

}  // namespace graphd::ctl
