// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "sampling/sampling_context.h"

namespace graphd {

// Takes the edges with the largest or smallest values of a row (kTopK, kTemporalRecent). Uses no
// random numbers.
void SampleOrdered(SamplingContext& c, const SourceRow& row, bool largest);

}  // namespace graphd
