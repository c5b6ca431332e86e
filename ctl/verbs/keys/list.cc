// SPDX-License-Identifier: Apache-2.0
#include <nlohmann/json.hpp>

#include "ctl/verbs/keys/options.h"
#include "ctl/verbs/verbs.h"

namespace graphd::ctl {
namespace {

constexpr const char* kKeysListExamples = R"(
Examples:
  graphctl keys list --server_name products
  graphctl keys list --server_name products --keys /etc/graphd/keys/products --json
)";

}  // namespace

void AddKeysList(CLI::App& keys) {
  auto options = std::make_shared<KeysOptions>();
  CLI::App* verb = keys.add_subcommand(
      "list", "Show the certificates: name, kind, serial number, state and expiry");
  verb->footer(kKeysListExamples);
  AddKeysOptions(*verb, *options);
  verb->callback([options] { ShowKeys(KeysOf(*options).List(), *options, {}); });
}

}  // namespace graphd::ctl
