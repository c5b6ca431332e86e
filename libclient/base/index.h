// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <cstdint>

namespace graphd {

// Where `i`, which is not negative, lies in a container. Ids and counts are signed, as DGL's are;
// containers' indices are not.
constexpr size_t Index(int64_t i) noexcept { return static_cast<size_t>(i); }

}  // namespace graphd
