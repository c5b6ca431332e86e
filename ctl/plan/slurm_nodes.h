// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "ctl/plan/launch_plan.h"
#include "ctl/plan/trainer_hosts.h"
#include "wire/ip_config.h"

// Finds the hosts of a launch among the nodes of a Slurm job. The functions have no side effects,
// except on their arguments.

namespace graphd::ctl {

struct SlurmNode {
  std::string name;
  std::vector<std::string> addresses;  // numeric, of all its interfaces but loopback
};

// The nodes of a job, in Slurm's order.
struct SlurmNodes {
  std::string job;
  std::vector<SlurmNode> nodes;
};

// Removes the addresses that several nodes have, such as those of bridges for containers, because
// such an address does not identify a node.
void RemoveSharedAddresses(SlurmNodes& job);

// A function that returns the numeric addresses of a name or address in ip_config; none if it can't
// be resolved.
using AddressLookup = std::function<std::vector<std::string>(const std::string& address)>;

// Returns the node that an address names, by its name or one of its addresses. Throws
// Error(kInvalid), which lists the nodes, if there is none. `where` says in the message where the
// address comes from.
const SlurmNode& NodeOf(const std::string& address, const std::string& where, const SlurmNodes& job,
                        const AddressLookup& look_up);

// Returns the text of an ip_config for `num_parts` partitions. Each of the first `num_parts` nodes
// has one partition. If there are fewer nodes than partitions, neighbouring partitions share a
// node.
std::string IpConfigOf(const SlurmNodes& job, int num_parts, const AddressLookup& look_up);

// Returns the nodes that no line of ip_config names, which run trainers only.
std::vector<TrainerHost> OtherNodes(const SlurmNodes& job, const std::vector<HostLine>& lines,
                                    const AddressLookup& look_up);

// Sets the node of each host of a plan, also of this machine, because srun starts the supervisors
// of all hosts. Each host ends its job if the launcher is silent for `host_timeout` seconds. Throws
// Error(kInvalid) for a host that is not a node of the job.
void AssignNodes(const SlurmNodes& job, double host_timeout, const AddressLookup& look_up,
                 LaunchPlan& plan);

}  // namespace graphd::ctl
