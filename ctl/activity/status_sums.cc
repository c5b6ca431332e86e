// SPDX-License-Identifier: Apache-2.0
#include "ctl/activity/status_sums.h"

#include "base/strings.h"
#include "ctl/plan/json_value.h"

namespace graphd::ctl {

using nlohmann::json;

size_t TrainersIn(const json& status) {
  size_t trainers = 0;
  for (const json& job : ValueOr(status, "jobs", json::array())) {
    for (const json& member : ValueOr(job, "members", json::array())) {
      trainers += ValueOr(member, "role", "") == "trainer" ? 1 : 0;
    }
  }
  return trainers;
}

uint64_t TensorBytesIn(const json& status) {
  uint64_t bytes = 0;
  for (const json& tensor : ValueOr(status, "tensors", json::array())) {
    bytes += ValueOr(tensor, "resident_bytes", uint64_t{0});
  }
  return bytes;
}

uint64_t GraphBytesIn(const json& status) {
  uint64_t bytes = 0;
  for (const json& version : ValueOr(status, "graphs", json::array())) {
    bytes += ValueOr(version, "bytes", uint64_t{0});
  }
  return bytes;
}

std::string LoadedText(const json& loading) {
  if (ValueOr(loading, "total", uint64_t{0}) == 0) return {};
  return StrCat(" ", ValueOr(loading, "percent", 0), " %");
}

}  // namespace graphd::ctl
