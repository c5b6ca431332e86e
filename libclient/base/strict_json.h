// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <concepts>
#include <limits>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/strings.h"

namespace graphd {

template <class T, class = void>
struct StrictSerializer : nlohmann::adl_serializer<T> {};

template <std::integral T>
requires(!std::same_as<T, bool>) struct StrictSerializer<T, void> : nlohmann::adl_serializer<T> {
  template <class Json>
  static void from_json(const Json& json, T& value) {
    using Limits = std::numeric_limits<T>;
    const auto take = [&](auto number) {
      if (!std::in_range<T>(number)) Refuse(json, Limits::min(), Limits::max());
      value = static_cast<T>(number);
    };
    if (json.is_number_unsigned()) {
      take(json.template get_ref<const uint64_t&>());
    } else if (json.is_number_integer()) {
      take(json.template get_ref<const int64_t&>());
    } else {
      Refuse(json, Limits::min(), Limits::max());
    }
  }

 private:
  template <class Json>
  [[noreturn]] static void Refuse(const Json& json, T min, T max) {
    Throw(ErrorCode::kCorrupt, json.dump().substr(0, 80), " is not a whole number in ", +min, "..",
          +max);
  }
};

// JSON that was written by another process. Converting a value to an integer throws Error(kCorrupt)
// if the value is not a whole number or does not fit the type. nlohmann::json would cut the number
// off instead, and its result would be undefined for a large number.
using StrictJson = nlohmann::basic_json<std::map, std::vector, std::string, bool, int64_t, uint64_t,
                                        double, std::allocator, StrictSerializer>;

// Returns the enumerator with a number in 0..count-1. Throws Error(kCorrupt), which names `what`,
// for another number.
template <class E>
E Enumeration(const StrictJson& json, int count, const char* what) {
  const int value = json;
  if (value < 0 || value >= count) Throw(ErrorCode::kCorrupt, what, " ", value);
  return static_cast<E>(value);
}

}  // namespace graphd
