// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <string>
#include <utility>

#include "graphd/ids.h"

namespace graphd {

// The name of a feature in requests: nodes or edges, their type, and the name within the type.
struct FeatureRef {
  FeatureRef(NodeTypeId ntype, std::string feature)
      : is_edge(false), type(ntype), name(std::move(feature)) {}
  FeatureRef(EdgeTypeId etype, std::string feature)
      : is_edge(true), type(etype), name(std::move(feature)) {}
  // Takes the kind and the number of the type from a message.
  FeatureRef(bool of_edges, int32_t number, std::string feature)
      : is_edge(of_edges), type(number), name(std::move(feature)) {}

  bool is_edge;
  int32_t type;
  std::string name;
  bool operator==(const FeatureRef&) const = default;
};

}  // namespace graphd
