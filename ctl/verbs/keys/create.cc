// SPDX-License-Identifier: Apache-2.0
#include <nlohmann/json.hpp>

#include "ctl/verbs/keys/options.h"
#include "ctl/verbs/verbs.h"

namespace graphd::ctl {
namespace {

constexpr const char* kKeysCreateExamples = R"(
Makes the authority of a server name, the server's key, and the owner's: the key that jobs present
which the same user launches. A directory that has them gets keys of further clients.
With --shared_secret, makes a shared secret instead, for networks where nobody else can listen.

Examples:
  graphctl keys create --server_name products
  graphctl keys create --server_name products --client alice --client bob --days 90
  graphctl keys create --server_name products --shared_secret
)";

}  // namespace

void AddKeysCreate(CLI::App& keys) {
  auto options = std::make_shared<KeysOptions>();
  CLI::App* verb = keys.add_subcommand("create", "Make keys for a server and its clients");
  verb->footer(kKeysCreateExamples);
  AddKeysOptions(*verb, *options);
  AddDays(*verb, *options);
  verb->add_option("--client", options->clients,
                   "Name of a client that gets a key in <keys>/clients/<name>; repeatable")
      ->allow_extra_args(false);
  verb->add_flag(Flags("shared_secret"), options->secret,
                 "Make a shared secret, secret.key, and no certificates")
      ->excludes("--client");
  verb->callback([options] {
    if (options->secret) {
      KeysOf(*options).CreateSecret();
      return ShowKeys({}, *options, {});
    }
    ShowKeys(KeysOf(*options).Create(options->clients, options->days), *options, {});
  });
}

}  // namespace graphd::ctl
