// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "sampling/sampling_context.h"

namespace graphd {

// Takes the edges whose neighbours have the smallest random numbers (kLabor). The numbers do not
// depend on the row.
void SampleLabor(SamplingContext& c, const SourceRow& row);

}  // namespace graphd
