// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cmath>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace graphd::ctl {

// The largest number that is read as a double, so that it can be converted to an integer.
inline constexpr double kMaxJsonNumber = 1e18;

// JSON that is nested deeper than this is refused, because recursive functions copy and write
// values and could exhaust the stack.
inline constexpr int kMaxJsonDepth = 64;

// Parses a text that another host has sent. Returns a discarded value if it is not JSON.
template <class Json = nlohmann::json>
Json ParseJson(std::string_view text) {
  bool is_deep = false;
  Json value = Json::parse(
      text,
      [&is_deep](int depth, typename Json::parse_event_t, Json&) {
        is_deep = is_deep || depth > kMaxJsonDepth;
        return !is_deep;
      },
      /*allow_exceptions=*/false);
  return is_deep ? Json(Json::value_t::discarded) : value;
}

// Returns the member `key` of an object that another host has sent, or `otherwise` if it is
// missing, of another type, or out of range. (nlohmann::json::value throws an exception of its own
// for a member of another type.)
template <class T>
T ValueOr(const nlohmann::json& object, const char* key, const T& otherwise) {
  if (!object.is_object()) return otherwise;
  const auto found = object.find(key);
  if (found == object.end()) return otherwise;
  if constexpr (std::is_same_v<T, bool>) {
    return found->is_boolean() ? found->template get<bool>() : otherwise;
  } else if constexpr (std::is_integral_v<T>) {
    if (found->is_number_unsigned()) {
      const auto number = found->template get<uint64_t>();
      return std::in_range<T>(number) ? static_cast<T>(number) : otherwise;
    }
    if (!found->is_number_integer()) return otherwise;
    const auto number = found->template get<int64_t>();
    return std::in_range<T>(number) ? static_cast<T>(number) : otherwise;
  } else if constexpr (std::is_same_v<T, double>) {
    if (!found->is_number()) return otherwise;
    const auto number = found->template get<double>();
    return std::abs(number) <= kMaxJsonNumber ? number : otherwise;
  } else if constexpr (std::is_same_v<T, std::string>) {
    return found->is_string() ? found->template get<std::string>() : otherwise;
  } else {
    static_assert(std::is_same_v<T, nlohmann::json>);
    return otherwise.is_null() || found->type() == otherwise.type() ? *found : otherwise;
  }
}
inline std::string ValueOr(const nlohmann::json& object, const char* key, const char* otherwise) {
  return ValueOr(object, key, std::string(otherwise));
}

// Returns the texts in a member that is a list; none if it is missing. Elements of other types are
// left out.
inline std::vector<std::string> TextsIn(const nlohmann::json& object, const char* key) {
  std::vector<std::string> texts;
  for (const nlohmann::json& each : ValueOr(object, key, nlohmann::json::array())) {
    if (each.is_string()) texts.push_back(each.get<std::string>());
  }
  return texts;
}

}  // namespace graphd::ctl
