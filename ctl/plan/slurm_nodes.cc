// SPDX-License-Identifier: Apache-2.0
#include "ctl/plan/slurm_nodes.h"

#include <algorithm>
#include <map>
#include <set>

#include "base/strings.h"

namespace graphd::ctl {
namespace {

constexpr size_t kMostShown = 8;

// Returns the node that an address names, or null.
const SlurmNode* FindNode(const std::string& address, const SlurmNodes& job,
                          const AddressLookup& look_up) {
  for (const SlurmNode& node : job.nodes) {
    if (node.name == address) return &node;
  }
  const std::vector<std::string> numbers = look_up(address);
  for (const SlurmNode& node : job.nodes) {
    for (const std::string& each : node.addresses) {
      if (std::ranges::find(numbers, each) != numbers.end()) return &node;
    }
  }
  return nullptr;
}

// Returns the address by which other machines reach a node. Prefers the one to which the node's
// name resolves, because the node may have further addresses, for example for containers.
std::string AddressOf(const SlurmNode& node, const AddressLookup& look_up) {
  for (const std::string& each : look_up(node.name)) {
    if (std::ranges::find(node.addresses, each) != node.addresses.end()) return each;
  }
  return node.addresses.empty() ? node.name : node.addresses[0];
}

std::string ListOf(const SlurmNodes& job) {
  std::vector<std::string> shown;
  for (const SlurmNode& node : job.nodes) {
    if (shown.size() == kMostShown) {
      shown.push_back(StrCat("and ", job.nodes.size() - kMostShown, " more"));
      break;
    }
    const std::string addresses = Join(node.addresses, " ");
    shown.push_back(addresses.empty() ? node.name : StrCat(node.name, " (", addresses, ")"));
  }
  return Join(shown, ", ");
}

}  // namespace

void RemoveSharedAddresses(SlurmNodes& job) {
  std::map<std::string, std::set<const SlurmNode*>> nodes_of;
  for (const SlurmNode& node : job.nodes) {
    for (const std::string& each : node.addresses) nodes_of[each].insert(&node);
  }
  for (SlurmNode& node : job.nodes) {
    std::erase_if(node.addresses,
                  [&nodes_of](const std::string& each) { return nodes_of[each].size() > 1; });
  }
}

const SlurmNode& NodeOf(const std::string& address, const std::string& where, const SlurmNodes& job,
                        const AddressLookup& look_up) {
  if (const SlurmNode* node = FindNode(address, job, look_up)) return *node;
  Throw(ErrorCode::kInvalid, where, " names ", address, ", which is not a node of Slurm job ",
        job.job, ": ", ListOf(job),
        "; write their names or addresses, or leave out --ip_config, so that the first nodes get "
        "the partitions");
}

std::string IpConfigOf(const SlurmNodes& job, int num_parts, const AddressLookup& look_up) {
  const size_t parts = static_cast<size_t>(num_parts), nodes = std::min(job.nodes.size(), parts);
  std::string text;
  for (size_t part = 0; part < parts; part++) {
    text += AddressOf(job.nodes[part * nodes / parts], look_up) + "\n";
  }
  return text;
}

std::vector<TrainerHost> OtherNodes(const SlurmNodes& job, const std::vector<HostLine>& lines,
                                    const AddressLookup& look_up) {
  std::set<const SlurmNode*> named;
  for (const HostLine& line : lines) {
    named.insert(&NodeOf(line.address, "ip_config", job, look_up));
  }
  std::vector<TrainerHost> others;
  for (const SlurmNode& node : job.nodes) {
    if (named.contains(&node)) continue;
    others.push_back({AddressOf(node, look_up), std::nullopt, StrCat("Slurm job ", job.job)});
  }
  return others;
}

void AssignNodes(const SlurmNodes& job, double host_timeout, const AddressLookup& look_up,
                 LaunchPlan& plan) {
  for (HostPlan& host : plan.hosts) {
    const std::string where = host.where.empty() ? "ip_config" : host.where;
    host.node = NodeOf(host.order.server.address, where, job, look_up).name;
    host.order.host_timeout = host_timeout;
  }
}

}  // namespace graphd::ctl
