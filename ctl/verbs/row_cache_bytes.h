// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <string>

namespace graphd::ctl {

// Returns the number of bytes in the value of --row_cache, which has the same form as
// GRAPHD_ROW_CACHE; 0 for an empty text. Throws Error(kInvalid) for a text of another form, and for
// a cache that is so small that trainers would refuse it.
uint64_t RowCacheBytes(const std::string& text);

}  // namespace graphd::ctl
