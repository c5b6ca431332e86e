// SPDX-License-Identifier: Apache-2.0
#include <nlohmann/json.hpp>

#include "base/strings.h"
#include "ctl/keys/key_bundle.h"
#include "ctl/verbs/keys/options.h"
#include "ctl/verbs/verbs.h"

namespace graphd::ctl {
namespace {

constexpr const char* kKeysDistributeExamples = R"(
Each machine of ip_config, except this one, gets the server's key, the owner's, the authority's
certificate and the list of revoked certificates, for their owner alone and over ssh. The
authority's private key stays here. Machines of --trainer_hosts get the same without the server's
key. A shared secret is sent, too, or alone if there are no
certificates.

Examples:
  graphctl keys distribute --server_name products --ip_config ip_config.txt
  graphctl keys distribute --client alice --ssh_username alice --server_name products \
      --ip_config ip_config.txt     # the client's key alone, into the account alice
)";

}  // namespace

void AddKeysDistribute(CLI::App& keys) {
  auto options = std::make_shared<KeysOptions>();
  CLI::App* verb = keys.add_subcommand("distribute", "Send keys to the machines of ip_config");
  verb->footer(kKeysDistributeExamples);
  AddKeysOptions(*verb, *options);
  AddKeysHosts(*verb, *options);
  verb->add_option("--client", options->name, "Send this client's key instead of the server's");
  verb->callback([options] {
    if (options->hosts.ip_config.empty()) {
      Throw(ErrorCode::kInvalid, "keys distribute: --ip_config is missing; it names the machines");
    }
    const KeyDirectory directory = KeysOf(*options).directory();
    const bool of_client = !options->name.empty();
    const auto sent = SendKeys(
        *options, of_client ? KeysOfClient(directory, options->name) : KeysOfHost(directory),
        of_client ? KeysOfClient(directory, options->name) : KeysOfTrainerHost(directory));
    if (options->json) ShowKeys({}, *options, sent.answers);
  });
}

}  // namespace graphd::ctl
