// SPDX-License-Identifier: Apache-2.0
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>

#include "base/strings.h"
#include "ctl/doctor/diagnosis.h"
#include "ctl/verbs/host_options.h"
#include "ctl/verbs/verbs.h"
#include "format/load_part_config.h"
#include "wire/ip_config.h"

namespace graphd::ctl {
namespace {

constexpr int kFaultsFound = 1;  // exit code

constexpr const char* kDoctorExamples = R"(
Give the options with which the server will be started. Nothing is started or changed.

Examples:
  graphctl doctor --server_name products --ip_config ip_config.txt --workspace /srv/ws \
      --part_config data/products.json --keys default
  graphctl doctor --ip_config ip_config.txt --insecure     # without a graph
)";

struct DoctorArguments {
  HostOptions hosts;
  bool json = false;
};

// Returns the text of an ip_config with which this machine serves all partitions.
std::string LinesOfThisMachine(const HostOptions& options) {
  int parts = 1;
  if (FileExists(options.server.part_config)) {
    try {
      parts = LoadPartConfig(options.server.part_config).meta->book.num_partitions();
    } catch (const Error&) {
      // The facts that the host collects will say what is wrong with the file.
    }
  }
  std::string lines;
  for (int p = 0; p < parts; p++) lines += "127.0.0.1\n";
  return lines;
}

std::vector<HostPlan> Plan(HostOptions& options) {
  Resolve(options);
  if (options.lines.empty()) options.lines = ParseIpConfig(LinesOfThisMachine(options), "default");
  std::vector<HostPlan> plan =
      PlanHosts(options.server, options.lines, IsLocalAddress, HostAction::kExamine);
  AddTrainerHosts(options.server, options.trainers_only, IsLocalAddress, HostAction::kExamine,
                  plan);
  for (HostPlan& host : plan) {
    for (const HostPlan& other : plan) {
      const ServerSpec& server = other.order.server;
      if (&other != &host && !other.order.only_trainers)
        host.order.peers.push_back(HostPort(server.address, server.port));
    }
  }
  return plan;
}

std::vector<ExaminedHost> Examine(const std::vector<HostPlan>& plan, const HostOptions& options) {
  const std::vector<HostAnswer> answers = AskHosts(plan, options);
  std::vector<ExaminedHost> hosts;
  for (size_t i = 0; i < plan.size(); i++) {
    ExaminedHost& host = hosts.emplace_back();
    host.name = plan[i].name;
    host.server = plan[i].order.server;
    host.only_trainers = plan[i].order.only_trainers;
    if (!answers[i].ok) {
      host.error = answers[i].error;
      continue;
    }
    try {
      host.facts = answers[i].frames.at(0).at("facts").get<HostFacts>();
      host.clock_ahead = host.facts->clock - answers[i].clock;
    } catch (const std::exception& error) {
      host.error = StrCat("its graphctl gave no answer that can be read: ", error.what());
    }
  }
  return hosts;
}

std::string Describe(const HostFacts& facts, bool only_trainers) {
  std::string text = StrCat("kernel ", facts.kernel, ", ", facts.cores, " cores, ",
                            HumanBytes(facts.memory_available), " of ",
                            HumanBytes(facts.memory_total), " memory available");
  if (only_trainers) return text + ", for trainers only";
  text += StrCat(", ", HumanBytes(facts.state_dir_free), " of disk");
  for (const PartitionFacts& partition : facts.partitions) {
    text += StrCat("; partition ", partition.part, ", ", HumanBytes(partition.bytes));
  }
  if (facts.is_running) text += "; the server runs";
  return text;
}

std::string AddressOf(const ExaminedHost& host) {
  return host.only_trainers ? host.server.address : HostPort(host.server.address, host.server.port);
}

const char* SeverityName(Finding::Severity severity) {
  return severity == Finding::Severity::kFault ? "fault" : "warning";
}

void PrintText(const std::vector<ExaminedHost>& hosts, const std::vector<Finding>& findings,
               size_t faults, bool has_part_config) {
  for (size_t i = 0; i < hosts.size(); i++) {
    const std::string state =
        hosts[i].facts ? Describe(*hosts[i].facts, hosts[i].only_trainers) : "no answer";
    std::printf("%s: %s\n", AddressOf(hosts[i]).c_str(), state.c_str());
    for (const Finding& finding : findings) {
      if (finding.host != i) continue;
      std::printf("  %s: %s\n", SeverityName(finding.severity), finding.text.c_str());
      if (!finding.remedy.empty()) std::printf("    remedy: %s\n", finding.remedy.c_str());
    }
  }
  std::printf("%zu %s, %zu %s\n", faults, faults == 1 ? "fault" : "faults",
              findings.size() - faults, findings.size() - faults == 1 ? "warning" : "warnings");
  if (!has_part_config) std::puts("the graph was not checked; give --part_config to check it");
}

void PrintJson(const std::vector<ExaminedHost>& hosts, const std::vector<Finding>& findings) {
  nlohmann::ordered_json root;
  root["hosts"] = nlohmann::ordered_json::array();
  for (size_t i = 0; i < hosts.size(); i++) {
    nlohmann::ordered_json host;
    host["host"] = AddressOf(hosts[i]);
    host["findings"] = nlohmann::ordered_json::array();
    for (const Finding& finding : findings) {
      if (finding.host != i) continue;
      host["findings"].push_back({{"severity", SeverityName(finding.severity)},
                                  {"text", finding.text},
                                  {"remedy", finding.remedy}});
    }
    if (hosts[i].facts) {
      host["clock_ahead"] = hosts[i].clock_ahead;
      host["facts"] = nlohmann::json(*hosts[i].facts);
    }
    root["hosts"].push_back(std::move(host));
  }
  std::puts(root.dump(2, ' ', false, nlohmann::json::error_handler_t::replace).c_str());
}

void Run(DoctorArguments& arguments) {
  const std::vector<HostPlan> plan = Plan(arguments.hosts);
  const std::vector<ExaminedHost> hosts = Examine(plan, arguments.hosts);
  const std::vector<Finding> findings = Diagnose(hosts);
  size_t faults = 0;
  for (const Finding& finding : findings) faults += finding.severity == Finding::Severity::kFault;
  if (arguments.json) {
    PrintJson(hosts, findings);
  } else {
    PrintText(hosts, findings, faults, !arguments.hosts.server.part_config.empty());
  }
  if (faults != 0) SetExitCode(kFaultsFound);
}

}  // namespace

void AddDoctor(CLI::App& app) {
  auto arguments = std::make_shared<DoctorArguments>();
  CLI::App* verb =
      app.add_subcommand("doctor", "Check hosts before a server or a job is started on them");
  verb->footer(kDoctorExamples);
  AddServerName(*verb, arguments->hosts);
  AddHostOptions(*verb, arguments->hosts);
  AddTrainerHostsOption(*verb, arguments->hosts);
  AddServerStartOptions(*verb, arguments->hosts);
  verb->add_flag(Flags("json"), arguments->json, "Print everything that was found out as JSON");
  verb->callback([arguments] { Run(*arguments); });
}

}  // namespace graphd::ctl
