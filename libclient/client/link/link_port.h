// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <memory>

#include "client/link/tensor_port.h"

namespace graphd {

// Returns a port to the tensors of a daemon, which are reached by RPC.
std::shared_ptr<TensorPort> MakeLinkPort(std::shared_ptr<DaemonLink> link);

}  // namespace graphd
