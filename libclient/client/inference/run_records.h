// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "graphd/inference_run.h"

// The arguments of a run of layer-wise inference and the progress marks of its trainers, in the
// form in which tensors on the servers store them. Readers must check everything: the trainer that
// wrote them may have been killed halfway, and any trainer may have created a tensor with their
// name.

namespace graphd {

// Returns the text in which arguments are stored. Throws Error(kInvalid) if an argument is not
// valid UTF-8; `run` is the name of the run in the message.
std::string ArgumentsToText(const InferenceRun::Arguments& arguments, const std::string& run);

// Returns the arguments that a stored text contains, or nothing if it is not such a text.
std::optional<InferenceRun::Arguments> ArgumentsFromText(std::string_view text);

// Returns the marks of all trainers, each of which is stored as two 64-bit integers. Returns
// nothing if the tensor does not have the marks of `num_trainers` trainers, or has a mark that no
// trainer of a run with `num_layers` layers writes.
std::optional<std::vector<InferenceRun::Place>> ReadMarks(const Tensor& marks, int64_t num_trainers,
                                                          int64_t num_layers);

}  // namespace graphd
