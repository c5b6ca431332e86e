// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <cstdint>

namespace graphd {

// Converts a non-negative id or count to an index into a container. Ids and counts are signed, as
// in DGL; the indices of containers are unsigned.
constexpr size_t Index(int64_t i) noexcept { return static_cast<size_t>(i); }

}  // namespace graphd
