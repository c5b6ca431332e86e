// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <vector>

#include "client/checkpoints/client.h"

namespace graphd::ctl {

// Writes a checkpoint to `directory`, which must be empty or not exist. It writes TENSOR.npy for
// each tensor and, if the tensor has an optimiser's state, TENSOR.state.npy (float32). The files
// that trainers have stored in the checkpoint are written below files/. Rows are in the order of
// `orig_id`, which does not depend on the partitioning, or of type-wise ids if the graph has no
// `orig_id`. Returns the paths of the written files. Throws Error: kExists, kNotFound, kCorrupt,
// kIo.
std::vector<std::string> ExportCheckpoint(CheckpointClient& client, const std::string& name,
                                          const std::vector<std::string>& tensors,
                                          const std::string& directory);

}  // namespace graphd::ctl
