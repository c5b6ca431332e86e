// SPDX-License-Identifier: Apache-2.0
#include <nlohmann/json.hpp>

#include "base/strings.h"
#include "ctl/keys/key_bundle.h"
#include "ctl/verbs/keys/options.h"
#include "ctl/verbs/verbs.h"

namespace graphd::ctl {
namespace {

constexpr const char* kKeysRotateExamples = R"(
Makes new keys under the same names and revokes the old ones. Daemons and jobs take the new keys
without a restart. With --ip_config, the machines get them at once; clients of --client get theirs
from you, as after `create`.

Examples:
  graphctl keys rotate --server_name products --ip_config ip_config.txt
  graphctl keys rotate --server_name products --client alice --ip_config ip_config.txt
)";

}  // namespace

void AddKeysRotate(CLI::App& keys) {
  auto options = std::make_shared<KeysOptions>();
  CLI::App* verb = keys.add_subcommand("rotate", "Make new keys and revoke the old ones");
  verb->footer(kKeysRotateExamples);
  AddKeysOptions(*verb, *options);
  AddDays(*verb, *options);
  AddKeysHosts(*verb, *options);
  verb->add_option("--client", options->clients,
                   "Name whose key is renewed, repeatable (default: the server's, the owner's and "
                   "every client's)")
      ->allow_extra_args(false);
  verb->callback([options] {
    KeyMaker maker = KeysOf(*options);
    const auto made = maker.Rotate(options->clients, options->days, [&] {
      if (!SendKeys(*options, KeysOfHost(maker.directory(), false),
                    KeysOfTrainerHost(maker.directory(), false))
               .all_have_them) {
        Throw(ErrorCode::kUnavailable, "not all machines have the new keys, so the old ones ",
              "stay valid; send the new ones with `graphctl keys distribute`, and rotate again");
      }
    });
    const std::vector<KeyFile> revoked = RevokedAlone(maker.directory());
    ShowKeys(made, *options, SendKeys(*options, revoked, revoked).answers);
  });
}

}  // namespace graphd::ctl
