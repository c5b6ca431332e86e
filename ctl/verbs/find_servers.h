// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <vector>

#include "ctl/verbs/host_options.h"

// The daemons that `graphctl ps` and `graphctl top` show.

namespace graphd::ctl {

struct FoundServer {
  std::string host;       // its address and port; of this machine's, "port 30050"
  nlohmann::json status;  // as StatusToJson makes it
  std::string error;      // why it could not be asked; empty if it could
};

// Asks the daemons of options.lines, all at the same time. Without lines those whose sockets lie in
// `runtime_dir` of this machine, all or those of `only`; a socket where nobody listens is none.
std::vector<FoundServer> FindServers(const HostOptions& options, const std::string& runtime_dir,
                                     const std::string& only);

// Where this machine's sockets are: --runtime_dir, or its default.
std::string RuntimeDirOf(const HostOptions& options);

}  // namespace graphd::ctl
