// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <string>

namespace graphd {

// The name of a feature in requests: nodes or edges, their type, and the name within the type.
struct FeatureRef {
  bool is_edge;
  int32_t type;
  std::string name;
  bool operator==(const FeatureRef&) const = default;
};

}  // namespace graphd
