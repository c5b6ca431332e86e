// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <vector>

#include "client/checkpoints/client.h"

namespace graphd::ctl {

// Writes to `directory`, which must be empty or not there: TENSOR.npy and, if there is an
// optimiser's state, TENSOR.state.npy (float32) for each tensor, and the kept files below files/.
// Rows are in the order of `orig_id`, which does not depend on the cut, or of type-wise ids where
// the graph has none. Returns the paths. Throws Error: kExists, kNotFound, kCorrupt, kIo.
std::vector<std::string> ExportCheckpoint(CheckpointClient& client, const std::string& name,
                                          const std::vector<std::string>& tensors,
                                          const std::string& directory);

}  // namespace graphd::ctl
