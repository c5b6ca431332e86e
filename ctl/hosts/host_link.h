// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <memory>
#include <string>

#include "ctl/hosts/event_queue.h"
#include "ctl/plan/launch_plan.h"

// A conversation with `graphctl supervise` on one host: a child process here, a channel of an ssh
// session elsewhere. Frames, noise and at last one kClosed arrive in the EventQueue.

namespace graphd::ctl {

// How remote hosts are reached.
struct SshOptions {
  int port = 0;             // 0: as ssh's configuration says, else 22
  std::string username;     // empty: as ssh's configuration says, else ours
  std::string config_file;  // empty: ~/.ssh/config and /etc/ssh/ssh_config
  bool accept_new = false;  // unknown hosts are added to known_hosts instead of refused
  double connect_timeout = 10;
  double host_timeout = 20;  // a host that acknowledges nothing for so long is lost
};

class HostLink {
 public:
  // Closes the supervisor's input, which ends its job, and waits for its end.
  virtual ~HostLink() = default;
  // One line for the supervisor. Returns at once; lines after the link has closed are lost.
  virtual void Send(const std::string& line) = 0;
};

// `graphctl` is the path of the program on that host. `queue` must outlive the link.
std::unique_ptr<HostLink> OpenLocalLink(size_t host, const std::string& graphctl,
                                        EventQueue& queue);

}  // namespace graphd::ctl
