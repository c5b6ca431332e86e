// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <string>

namespace graphd::ctl {

// Returns the bytes of --row_cache, which says them as GRAPHD_ROW_CACHE does; 0 for an empty text.
// Throws Error(kInvalid), also for a cache that trainers would refuse because it is too small.
uint64_t RowCacheBytes(const std::string& text);

}  // namespace graphd::ctl
