// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "ctl/plan/launch_plan.h"

namespace graphd::ctl {

// Changes a plan so that each host with trainers runs one process, PyTorch's torchrun, which starts
// them. They run the same command, and torchrun numbers them by host: those of MASTER_ADDR come
// first, and then the others in the plan's order. No partition is assigned to a trainer.
void RunUnderTorchrun(LaunchPlan& plan);

}  // namespace graphd::ctl
