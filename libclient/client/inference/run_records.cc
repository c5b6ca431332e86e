// SPDX-License-Identifier: Apache-2.0
#include "client/inference/run_records.h"

#include <nlohmann/json.hpp>

#include "base/strings.h"

namespace graphd {

std::string ArgumentsToText(const InferenceRun::Arguments& arguments, const std::string& run) {
  try {
    return nlohmann::json(arguments).dump();
  } catch (const nlohmann::json::exception& error) {
    Throw(ErrorCode::kInvalid, "layer-wise inference '", run,
          "': a name or the version is not valid UTF-8 (", error.what(), ")");
  }
}

std::optional<InferenceRun::Arguments> ArgumentsFromText(std::string_view text) {
  try {
    return nlohmann::json::parse(text).get<InferenceRun::Arguments>();
  } catch (const nlohmann::json::exception&) {
    return std::nullopt;
  }
}

std::optional<std::vector<InferenceRun::Place>> ReadMarks(const Tensor& marks, int64_t num_trainers,
                                                          int64_t num_layers) {
  if (marks.dtype() != DType::kInt64 || marks.shape() != std::vector<int64_t>{num_trainers, 2}) {
    return std::nullopt;
  }
  std::vector<InferenceRun::Place> places;
  const auto numbers = marks.as<int64_t>();
  for (size_t i = 0; i < numbers.size(); i += 2) {
    const InferenceRun::Place place{numbers[i], numbers[i + 1]};
    if (place.layer < 0 || place.layer >= num_layers || place.batches < 0) return std::nullopt;
    places.push_back(place);
  }
  return places;
}

}  // namespace graphd
