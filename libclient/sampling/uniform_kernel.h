// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "sampling/sampling_context.h"

namespace graphd {

// Samples a row uniformly (kUniform, kTemporalUniform).
void SampleUniform(SamplingContext& c, const SourceRow& row);

}  // namespace graphd
