// SPDX-License-Identifier: Apache-2.0
#include "ctl/verbs/keys/options.h"

#include <cstdio>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>

#include "base/strings.h"
#include "ctl/keys/key_bundle.h"
#include "ctl/verbs/verbs.h"
#include "tls/shared_secret.h"

namespace graphd::ctl {
namespace {

std::string DayOf(std::time_t time) {
  std::tm utc{};
  ::gmtime_r(&time, &utc);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%d", &utc);
  return text;
}

// Returns the state of a certificate in a word.
const char* StateOf(const KeyMaker::Entry& entry) {
  if (entry.is_revoked) return "revoked";
  return entry.not_after < std::time(nullptr) ? "expired" : "valid";
}

}  // namespace

void AddKeysOptions(CLI::App& verb, KeysOptions& options) {
  AddServerName(verb, options.hosts);
  verb.add_option("--keys", options.keys,
                  "Directory of the keys; 'default' is /etc/graphd/keys/<server_name> for root, "
                  "else ~/.config/graphd/keys/<server_name>")
      ->capture_default_str();
  verb.add_flag("--json", options.json, "Print JSON");
}

void AddKeysHosts(CLI::App& verb, KeysOptions& options) {
  verb.add_option(Flags("ip_config"), options.hosts.ip_config,
                  "File with a line 'address [port [trainers]]' per partition");
  AddTrainerHostsOption(verb, options.hosts);
  AddSshOptions(verb, options.hosts.graphctl, options.hosts.ssh);
}

void AddDays(CLI::App& verb, KeysOptions& options) {
  verb.add_option("--days", options.days, "Days for which new certificates are valid")
      ->capture_default_str()
      ->check(CLI::Range(1, 3650));
}

KeyMaker KeysOf(const KeysOptions& options) {
  const std::string& name = options.hosts.server.server_name;
  CheckServerName(name);
  const std::string path =
      options.keys == "default" ? options.keys : std::filesystem::absolute(options.keys).string();
  return {KeyDirectory(path, name), name};
}

void ShowKeys(const std::vector<KeyMaker::Entry>& entries, const KeysOptions& options,
              const nlohmann::json& more) {
  const KeyMaker maker = KeysOf(options);
  const std::string secret =
      maker.HasSecret() ? maker.directory().PathOf(SecretFile::kName) : std::string();
  if (options.json) {
    nlohmann::json root = more.is_object() ? more : nlohmann::json::object();
    root["directory"] = maker.directory().path();
    if (!secret.empty()) root["secret"] = secret;
    root["keys"] = nlohmann::json::array();
    for (const KeyMaker::Entry& entry : entries) {
      nlohmann::json each = {
          {"name", entry.name}, {"serial", entry.serial}, {"revoked", entry.is_revoked}};
      if (entry.kind) {
        each["kind"] = CertificateKindName(*entry.kind);
        each["expires"] = DayOf(entry.not_after);
        each["state"] = StateOf(entry);
      }
      root["keys"].push_back(std::move(each));
    }
    std::puts(root.dump(2, ' ', false, nlohmann::json::error_handler_t::replace).c_str());
    return;
  }
  for (const KeyMaker::Entry& entry : entries) {
    const std::string kind = entry.kind ? CertificateKindName(*entry.kind) : "former";
    const std::string until = entry.kind ? "until " + DayOf(entry.not_after) : "";
    std::printf("%-24s %-10s %s  %-8s %s\n", entry.name.c_str(), kind.c_str(), entry.serial.c_str(),
                entry.kind ? StateOf(entry) : "revoked", until.c_str());
  }
  if (!secret.empty()) std::printf("shared secret: %s\n", secret.c_str());
}

SentKeys SendKeys(KeysOptions& options, const std::vector<KeyFile>& files,
                  const std::vector<KeyFile>& of_trainer_host) {
  SentKeys sent;
  if (options.hosts.ip_config.empty()) {
    if (options.hosts.trainer_hosts.empty()) return sent;
    Throw(ErrorCode::kInvalid, "--trainer_hosts ", options.hosts.trainer_hosts,
          " without --ip_config: the servers' machines need the files, too; give both");
  }
  Resolve(options.hosts);
  auto all = PlanHosts(options.hosts.server, options.hosts.lines, IsLocalAddress,
                       HostAction::kInstallKeys);
  AddTrainerHosts(options.hosts.server, options.hosts.trainers_only, IsLocalAddress,
                  HostAction::kInstallKeys, all);
  std::vector<HostPlan> plan;
  std::set<std::string> machines;
  for (HostPlan host : all) {
    if (host.is_local || !machines.insert(host.order.server.address).second) continue;
    host.name = host.order.server.address;
    host.order.server.keys =
        options.keys == "default" ? options.keys : std::filesystem::absolute(options.keys).string();
    host.order.key_files = host.order.only_trainers ? of_trainer_host : files;
    plan.push_back(std::move(host));
  }
  const std::vector<HostAnswer> results = AskHosts(plan, options.hosts);
  sent.answers["hosts"] = nlohmann::json::array();
  int code = 0;
  for (size_t i = 0; i < plan.size(); i++) {
    nlohmann::json each = {{"host", plan[i].name}, {"ok", results[i].ok}};
    sent.all_have_them = sent.all_have_them && results[i].ok;
    if (!results[i].ok) {
      each["error"] = results[i].error;
      std::fprintf(stderr, "graphctl: %s: %s\n", plan[i].name.c_str(), results[i].error.c_str());
      if (code == 0) code = ExitCode(results[i].code);
    } else if (!options.json) {
      std::printf("%s: has %s\n", plan[i].name.c_str(),
                  files[0].name == "revoked" ? "the list of revoked certificates"
                  : files.size() == 1        ? "the shared secret"
                                             : "the keys");
    }
    sent.answers["hosts"].push_back(std::move(each));
  }
  SetExitCode(code);
  return sent;
}

}  // namespace graphd::ctl
