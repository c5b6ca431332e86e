// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "ctl/plan/launch_plan.h"
#include "ctl/plan/trainer_hosts.h"
#include "wire/ip_config.h"

// The search for the hosts of a launch among the nodes of a Slurm job. The functions change nothing
// but their arguments.

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

// Removes addresses that several nodes have, such as those of bridges for containers, which name
// none of them.
void RemoveSharedAddresses(SlurmNodes& job);

// Returns the numeric addresses that belong to an address of ip_config; none if it is unknown.
using AddressLookup = std::function<std::vector<std::string>(const std::string& address)>;

// Returns the node that an address names, by its name or one of its addresses. Throws
// Error(kInvalid) with the nodes if there is none; `where` says what names the address.
const SlurmNode& NodeOf(const std::string& address, const std::string& where, const SlurmNodes& job,
                        const AddressLookup& look_up);

// Returns an ip_config for `num_parts` partitions: each of the first nodes has one partition. If
// there are fewer nodes than partitions, neighbouring partitions share a node.
std::string IpConfigOf(const SlurmNodes& job, int num_parts, const AddressLookup& look_up);

// Returns the nodes that no line of ip_config names, which run trainers only.
std::vector<TrainerHost> OtherNodes(const SlurmNodes& job, const std::vector<HostLine>& lines,
                                    const AddressLookup& look_up);

// Sets the nodes of all hosts of a plan. srun reaches all hosts, this machine too. A host regards
// the launcher as gone after `host_timeout` seconds of silence. Throws Error(kInvalid) for a host
// that is not a node of the job.
void AssignNodes(const SlurmNodes& job, double host_timeout, const AddressLookup& look_up,
                 LaunchPlan& plan);

}  // namespace graphd::ctl
