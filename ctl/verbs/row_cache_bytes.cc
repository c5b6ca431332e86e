// SPDX-License-Identifier: Apache-2.0
#include "ctl/verbs/row_cache_bytes.h"

#include "base/strings.h"
#include "client/cache/cache_memory.h"
#include "client/environment.h"

namespace graphd::ctl {

uint64_t RowCacheBytes(const std::string& text) {
  const uint64_t bytes = text.empty() ? 0 : ParseBytes(text, "--row_cache");
  if (bytes != 0 && bytes < CacheShape::kLeastBytes) {
    Throw(ErrorCode::kInvalid, "--row_cache '", text, "' is too small; give it ",
          HumanBytes(CacheShape::kLeastBytes), " or more, or leave it out");
  }
  return bytes;
}

}  // namespace graphd::ctl
