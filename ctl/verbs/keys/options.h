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

// Returns a KeyMaker for the server and the directory that the options name. Throws Error(kInvalid)
// if the server's name is not valid.
KeyMaker KeysOf(const KeysOptions& options);

// Prints the certificates, and the path of the shared secret if there is one. With --json, also
// prints the members of `more`.
void ShowKeys(const std::vector<KeyMaker::Entry>& entries, const KeysOptions& options,
              const nlohmann::json& more);

// Sends `files` to the machines of --ip_config, and `of_trainer_host` to the machines of
// --trainer_hosts, but nothing to this machine, which already has the files. Prints a line for each
// machine (for failures, on standard error), and sets the exit code. Without --ip_config, it sends
// nothing, and throws Error(kInvalid) if --trainer_hosts is given.
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
