// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <memory>

#include "client/link/tensor_port.h"

namespace graphd {

// The tensors of standalone mode: all partitions' in this process, in a store that is opened when
// they are first asked for, in options.state_dir or in a directory that goes with this object.
std::shared_ptr<TensorPort> MakeLocalPort(std::shared_ptr<const GraphMeta> meta,
                                          const Options& options);

}  // namespace graphd
