// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "ctl/keys/key_maker.h"
#include "ctl/verbs/host_options.h"

// The options and functions that the verbs of `graphctl keys` share.

namespace graphd::ctl {

struct KeysOptions {
  HostOptions hosts;
  std::string keys = "default";
  std::vector<std::string> clients;
  std::string name;
  int days = kCertificateDays;
  bool secret = false;
  bool json = false;
};

// Adds --server_name, --keys and --json.
void AddKeysOptions(CLI::App& verb, KeysOptions& options);
// Adds --ip_config, --trainer_hosts and the options of ssh.
void AddKeysHosts(CLI::App& verb, KeysOptions& options);
// Adds --days.
void AddDays(CLI::App& verb, KeysOptions& options);

// Returns the keys that the options name. Throws Error(kInvalid) for a name that is none.
KeyMaker KeysOf(const KeysOptions& options);

// Prints the certificates, and the path of the shared secret if there is one; as JSON, together
// with `more`.
void ShowKeys(const std::vector<KeyMaker::Entry>& entries, const KeysOptions& options,
              const nlohmann::json& more);

// Sends the files to the machines of ip_config, and those of a machine that only computes to the
// ones of --trainer_hosts, except to this machine, which has them, and sets the exit code. Reports
// each machine, failures on standard error. Does nothing without --ip_config.
struct SentKeys {
  bool all_have_them = true;
  nlohmann::json answers;  // for ShowKeys
};
SentKeys SendKeys(KeysOptions& options, const std::vector<KeyFile>& files,
                  const std::vector<KeyFile>& of_trainer_host);

void AddKeysCreate(CLI::App& keys);
void AddKeysList(CLI::App& keys);
void AddKeysRotate(CLI::App& keys);
void AddKeysRevoke(CLI::App& keys);
void AddKeysDistribute(CLI::App& keys);

}  // namespace graphd::ctl
