// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "graphd/ids.h"

// Functions by which nlohmann::json, which looks for their names, writes ids as numbers and reads
// them.

namespace graphd {

template <class Json, class Kind>
void to_json(Json& out, TypedId<Kind> id) {
  out = static_cast<int32_t>(id);
}

template <class Json, class Kind>
void from_json(const Json& in, TypedId<Kind>& id) {
  id = in.template get<int32_t>();
}

}  // namespace graphd
