// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "ctl/verbs/host_options.h"

// Finds the daemons that `graphctl ps`, `status` and `top` show.

namespace graphd::ctl {

struct FoundServer {
  std::string host;        // address and port, or "port 30050" if it was found by its socket here
  nlohmann::json status;   // in the form of StatusToJson
  std::string error;       // the reason why the daemon could not be asked; empty: it was
  bool is_denied = false;  // this user is not allowed to ask the daemon

  // Returns whether the daemon runs and has loaded its graph.
  bool serves() const { return error.empty() && !status.contains("loading"); }
};

// Says whether FindServers also reports sockets on which no process listens because their daemon
// was killed or has crashed.
enum class DeadSockets { kIgnore, kReport };

struct FindOptions {
  std::string only = {};  // on this machine, find only servers with this name; empty: all
  DeadSockets dead = DeadSockets::kIgnore;
  bool operations = false;  // also ask for the times of operations
  // Called ten times a second while other machines are asked; may be empty.
  std::function<void()> on_wait = {};
};

// Asks the daemons of options.lines concurrently. Without lines, asks those whose sockets are in
// `runtime_dir` on this machine.
std::vector<FoundServer> FindServers(const HostOptions& options, const std::string& runtime_dir,
                                     const FindOptions& find);

// Returns the message for the case that this machine has no server or, if `named` is true, no
// server with the name in the options.
std::string NoServerText(const HostOptions& options, const std::string& runtime_dir, bool named);

// Returns the directory of this machine's sockets: --runtime_dir or its default. Throws Error
// (kInvalid) if the option names a file.
std::string RuntimeDirOf(const HostOptions& options);

}  // namespace graphd::ctl
