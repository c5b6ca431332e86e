// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <vector>

#include "ctl/hosts/host_link.h"
#include "ctl/plan/slurm_nodes.h"

// Starts graphctl by srun on the nodes of the Slurm job that this process is part of. Every host
// has a step of its own, because in a common step srun would send the input to all tasks, mix their
// output, and end all tasks if one node fails. The steps share the job's resources with everything
// else that runs in it.

namespace graphd::ctl {

// Asks all nodes of the job for their addresses, by one step for all. `graphctl` is the program's
// path on the nodes. Throws Error(kInvalid) outside of a job, and Error(kUnavailable) with srun's
// messages if the nodes don't answer within `timeout` seconds.
SlurmNodes AskNodes(const std::string& graphctl, double timeout);

// Answers AskNodes on a node: writes its name and addresses to standard output.
void AnswerAsNode();

// Returns a function that runs `graphctl supervise` on the nodes of a plan's hosts.
LinkOpener LinksOverSrun(const std::string& graphctl, double connect_timeout);

}  // namespace graphd::ctl
