// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "graphd/inference_run.h"

// The arguments of a run of layer-wise inference and the marks of its trainers, as tensors on the
// servers keep them. Nothing can be relied on when they are read: the trainer that wrote them may
// have been killed in between, and any trainer may have made a tensor of their name.

namespace graphd {

// Returns the arguments as they are kept. Throws Error(kInvalid) if one is not valid UTF-8; `run`
// is the name of the run in its text.
std::string ArgumentsToText(const InferenceRun::Arguments& arguments, const std::string& run);

// Returns the arguments that are kept; nothing if the text has none.
std::optional<InferenceRun::Arguments> ArgumentsFromText(std::string_view text);

// Returns the marks of all trainers, two 64-bit integers each; nothing if the tensor has no marks
// of so many trainers, or one that no trainer of a run with `num_layers` layers makes.
std::optional<std::vector<InferenceRun::Place>> ReadMarks(const Tensor& marks, int64_t num_trainers,
                                                          int64_t num_layers);

}  // namespace graphd
