// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <span>

// Dropout as a pure function of a key: out[i] is in[i] / (1 - p), or 0 with probability p, decided
// by (key, i). The gradient's dropout is then the same call with the same key: no mask is kept.
// Half of a GraphSAGE step went into torch::dropout's serial generator before this.

namespace examples {

// `p` in [0, 1), taken to the nearest 1/65536. `in` and `out` have one size and may be the same.
void Dropout(uint64_t key, double p, std::span<const float> in, std::span<float> out);

}  // namespace examples
