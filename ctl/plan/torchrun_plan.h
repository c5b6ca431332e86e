// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "ctl/plan/launch_plan.h"

namespace graphd::ctl {

// Changes a plan so that each host with trainers runs one process, PyTorch's torchrun, which starts
// the trainers. All trainers run the same command. torchrun numbers them by host: first the
// trainers of the host MASTER_ADDR, and then the trainers of the other hosts in the plan's order.
// No partition is assigned to a trainer.
void RunUnderTorchrun(LaunchPlan& plan);

}  // namespace graphd::ctl
