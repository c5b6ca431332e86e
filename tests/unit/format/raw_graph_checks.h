// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "format/input/raw_graph.h"
#include "graphd/error.h"

// Helpers for the tests of input readers, which inspect graphs and errors.

namespace graphd::testing {

using Ends = std::vector<std::pair<uint64_t, uint64_t>>;

inline Ends EndsOf(const RawEdges& edges) {
  Ends ends;
  edges.ForEach([&](size_t, uint64_t u, uint64_t v) { ends.emplace_back(u, v); });
  return ends;
}

inline const Tensor& FeatureOf(const std::vector<RawFeature>& features, const std::string& name) {
  for (const RawFeature& feature : features) {
    if (feature.name == name) return feature.values;
  }
  throw std::runtime_error("no feature " + name);
}

// Returns the code and the message of the Error that `f` throws.
template <class F>
std::pair<ErrorCode, std::string> Failure(F&& f) {
  try {
    f();
  } catch (const Error& error) {
    return {error.code(), error.what()};
  }
  return {ErrorCode::kInternal, "no error"};
}

}  // namespace graphd::testing
