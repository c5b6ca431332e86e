// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <span>

// Dropout as a pure function of a key: out[i] is in[i] / (1 - p), or 0 with probability p, decided
// by (key, i). The gradient's dropout is the same call with the same key, so no mask is stored.
// With torch::dropout, half of a GraphSAGE step was spent in its serial generator.

namespace examples {

// `p` is in [0, 1) and rounded to the nearest multiple of 1/65536. `in` and `out` have the same
// size and may be the same memory.
void Dropout(uint64_t key, double p, std::span<const float> in, std::span<float> out);

}  // namespace examples
