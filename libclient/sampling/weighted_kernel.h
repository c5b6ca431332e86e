// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "sampling/sampling_context.h"

namespace graphd {

// Samples a row by weight (kWeighted).
void SampleWeighted(SamplingContext& c, const SourceRow& row);
// Prefetches the memory that SampleWeighted will read first.
void PrefetchWeighted(const SamplingContext& c, const SourceRow& row) noexcept;

}  // namespace graphd
