// SPDX-License-Identifier: Apache-2.0
#include <nlohmann/json.hpp>

#include "ctl/keys/key_bundle.h"
#include "ctl/verbs/keys/options.h"
#include "ctl/verbs/verbs.h"

namespace graphd::ctl {
namespace {

constexpr const char* kKeysRevokeExamples = R"(
Daemons refuse a revoked certificate, and close its connections, within a second of getting the list
of revoked certificates: those on this machine read it where it is written, those on others get it
with --ip_config.

Examples:
  graphctl keys revoke alice --server_name products --ip_config ip_config.txt
)";

}  // namespace

void AddKeysRevoke(CLI::App& keys) {
  auto options = std::make_shared<KeysOptions>();
  CLI::App* verb = keys.add_subcommand("revoke", "Revoke the certificate of a client or server");
  verb->footer(kKeysRevokeExamples);
  AddKeysOptions(*verb, *options);
  AddKeysHosts(*verb, *options);
  verb->add_option("name", options->name, "Name or serial number of the certificate")->required();
  verb->callback([options] {
    KeyMaker maker = KeysOf(*options);
    const auto revoked = maker.Revoke(options->name);
    const std::vector<KeyFile> files = RevokedAlone(maker.directory());
    ShowKeys(revoked, *options, SendKeys(*options, files, files).answers);
  });
}

}  // namespace graphd::ctl
