// SPDX-License-Identifier: Apache-2.0
#include "common/typed_fanouts.h"

#include <charconv>
#include <string_view>

namespace examples {
namespace {

using graphd::Error;
using graphd::ErrorCode;

constexpr int kMost = 1 << 16;

std::vector<int> ParseNumbers(std::string_view text, const std::string& whole) {
  std::vector<int> numbers;
  for (bool more = true; more;) {
    const size_t comma = text.find(',');
    const std::string_view cell = text.substr(0, comma);
    int value = 0;
    const auto [end, status] = std::from_chars(cell.data(), cell.data() + cell.size(), value);
    if (status != std::errc() || end != cell.data() + cell.size() || value < -1 || value > kMost) {
      throw Error(ErrorCode::kInvalid, "--fan_out_of '" + whole + "': '" + std::string(cell) +
                                           "' is not a fanout (0 to 65536, or -1 for all)");
    }
    numbers.push_back(value);
    more = comma != text.npos;
    if (more) text.remove_prefix(comma + 1);
  }
  return numbers;
}

}  // namespace

std::vector<std::vector<int>> TypedFanouts(const graphd::Schema& schema,
                                           const std::vector<int>& all,
                                           const std::vector<std::string>& exceptions, int factor) {
  std::vector<std::vector<int>> fanouts;
  for (const int fanout : all) {
    fanouts.emplace_back(static_cast<size_t>(schema.num_etypes()), fanout);
  }
  for (const std::string& text : exceptions) {
    const size_t equals = text.find('=');
    if (equals == text.npos) {
      throw Error(ErrorCode::kInvalid,
                  "--fan_out_of '" + text + "': expected EDGETYPE=FANOUT,..., one per layer");
    }
    const auto etype = static_cast<size_t>(schema.EdgeTypeIdOf(text.substr(0, equals)));
    const std::vector<int> own = ParseNumbers(std::string_view(text).substr(equals + 1), text);
    if (own.size() != all.size()) {
      throw Error(ErrorCode::kInvalid, "--fan_out_of '" + text + "' has " +
                                           std::to_string(own.size()) + " fanouts, there are " +
                                           std::to_string(all.size()) + " layers");
    }
    for (size_t layer = 0; layer < own.size(); ++layer) {
      fanouts[layer][etype] = own[layer] < 0 ? own[layer] : factor * own[layer];
    }
  }
  return fanouts;
}

}  // namespace examples
