// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <memory>

#include "client/link/tensor_port.h"

namespace graphd {

// Makes the port to the tensors of standalone mode. The port holds the tensors of all partitions in
// a store, which is opened on first use in options.state_dir or, if that is empty, in a directory
// that is removed with the port.
std::shared_ptr<TensorPort> MakeLocalPort(std::shared_ptr<const GraphMeta> meta,
                                          const Options& options);

}  // namespace graphd
