// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <memory>

#include "client/link/tensor_port.h"

namespace graphd {

// The tensors of a daemon, by RPC.
std::shared_ptr<TensorPort> MakeLinkPort(std::shared_ptr<DaemonLink> link);

}  // namespace graphd
