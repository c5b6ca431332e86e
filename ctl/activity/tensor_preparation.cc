// SPDX-License-Identifier: Apache-2.0
#include "ctl/activity/tensor_preparation.h"

#include <utility>

#include "base/strings.h"
#include "ctl/plan/json_value.h"

namespace graphd::ctl {

using nlohmann::json;

json PreparedTensors(const json& status) {
  json found = json::array();
  for (const json& tensor : ValueOr(status, "tensors", json::array())) {
    const auto bytes = ValueOr(tensor, "preparing_bytes", uint64_t{0});
    if (bytes == 0) continue;
    found.push_back({{"name", ValueOr(tensor, "name", "?")},
                     {"part", ValueOr(tensor, "part", 0)},
                     {"resident_bytes", ValueOr(tensor, "resident_bytes", uint64_t{0})},
                     {"preparing_bytes", bytes}});
  }
  return found;
}

std::vector<std::string> PreparationLines(const json& machines) {
  std::vector<std::string> lines;
  for (const json& machine : machines) {
    for (const json& tensor : ValueOr(machine, "preparing", json::array())) {
      lines.push_back(
          Printable(StrCat("tensor '", ValueOr(tensor, "name", "?"), "', partition ",
                           ValueOr(tensor, "part", 0), " on ", ValueOr(machine, "host", "?"),
                           ", is new: ", HumanBytes(ValueOr(tensor, "resident_bytes", uint64_t{0})),
                           " of ", HumanBytes(ValueOr(tensor, "preparing_bytes", uint64_t{0})),
                           " of its memory are prepared; its steps are slower until all are")));
    }
  }
  return lines;
}

}  // namespace graphd::ctl
