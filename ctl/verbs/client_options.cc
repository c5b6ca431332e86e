// SPDX-License-Identifier: Apache-2.0
#include "ctl/verbs/client_options.h"

#include <unistd.h>

#include "base/secret.h"
#include "base/strings.h"
#include "ctl/verbs/verbs.h"

namespace graphd::ctl {

void AddClientOptions(CLI::App& action, ClientArgs& args) {
  action.add_option(Flags("server_name"), args.server_name, "Name of the servers")
      ->default_val("default");
  action
      .add_option(Flags("ip_config"), args.ip_config,
                  "File with a line 'address [port [trainers]]' per partition")
      ->required()
      ->check(CLI::ExistingFile);
  action.add_option(Flags("runtime_dir"), args.runtime_dir,
                    "Directory of the sockets of servers on this machine (default: "
                    "$GRAPHD_RUNTIME_DIR, else /run/graphd or the user's own)");
  action
      .add_option("--keys", args.keys,
                  "Directory of keys for TLS (graphctl keys), or 'default' for that of the "
                  "server's name (default: $GRAPHD_KEYS)")
      ->envname("GRAPHD_KEYS");
  action
      .add_option("--secret", args.secret,
                  "File of the shared secret (graphctl keys create --shared_secret), or 'default' "
                  "for that of the server's name (default: $GRAPHD_SECRET)")
      ->envname("GRAPHD_SECRET");
  action.add_option("--timeout", args.timeout, "Seconds to wait for an answer")
      ->default_val(30)
      ->check(CLI::Range(1.0, 86400.0));
  action.add_flag("--json", args.json, "Print JSON");
}

Options ClientOptions(const ClientArgs& args, const std::string& job) {
  Options options;
  options.server_name = args.server_name;
  options.ip_config = args.ip_config;
  options.job_id = StrCat(job, "-", ::getpid());
  options.job_secret = NewSecret();
  options.role = MachineRole::kTrainer;  // operators may use any machine
  options.keys = args.keys;
  options.secret_file = args.secret;
  options.timeout = std::chrono::milliseconds(static_cast<int64_t>(args.timeout * 1000));
  return options;
}

}  // namespace graphd::ctl
