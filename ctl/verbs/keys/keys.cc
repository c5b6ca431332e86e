// SPDX-License-Identifier: Apache-2.0
#include "ctl/verbs/keys/options.h"
#include "ctl/verbs/verbs.h"

namespace graphd::ctl {
namespace {

constexpr const char* kKeysExamples = R"(
Daemons with keys (graphd --keys, graphctl launch --keys) speak TLS over TCP, and know clients by
their certificates. The keys of all servers and clients are made on one machine.

Examples:
  graphctl keys create --server_name products --client alice
  graphctl keys distribute --server_name products --ip_config ip_config.txt
  graphctl launch --server_name products --keys default --ip_config ip_config.txt ...
  graphctl keys list --server_name products
  graphctl keys revoke alice --server_name products --ip_config ip_config.txt
)";

}  // namespace

void AddKeys(CLI::App& app) {
  CLI::App* verb = app.add_subcommand("keys", "Make, send, renew and revoke keys for TLS");
  verb->require_subcommand(1);
  verb->footer(kKeysExamples);
  AddKeysCreate(*verb);
  AddKeysList(*verb);
  AddKeysRotate(*verb);
  AddKeysRevoke(*verb);
  AddKeysDistribute(*verb);
}

}  // namespace graphd::ctl
