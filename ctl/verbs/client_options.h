// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <CLI/CLI.hpp>
#include <string>

#include "graphd/initialize.h"

namespace graphd::ctl {

// The options of a subcommand that is a client of all daemons of a server.
struct ClientArgs {
  std::string server_name = "default", ip_config, runtime_dir, keys, secret;
  double timeout = 30;  // seconds
  bool json = false;
};

// Adds these options to `action`. `args` outlives it.
void AddClientOptions(CLI::App& action, ClientArgs& args);

// Returns the Options with which graphctl connects as a client. It is the only member of a job of
// its own, whose id begins with `job`.
Options ClientOptions(const ClientArgs& args, const std::string& job);

}  // namespace graphd::ctl
