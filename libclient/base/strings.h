// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "graphd/error.h"

// Small text helpers used all over. No state, no locale.

namespace graphd {

// Everything streamed into one string: StrCat("partition ", 3, " of ", name).
template <class... Args>
std::string StrCat(const Args&... args) {
  std::ostringstream out;
  (out << ... << args);
  return out.str();
}

// throw Error(code, StrCat(args...)).
template <class... Args>
[[noreturn]] void Throw(ErrorCode code, const Args&... args) {
  throw Error(code, StrCat(args...));
}

// Pieces between `separator`s; empty pieces are kept.
std::vector<std::string> Split(std::string_view text, char separator);
// Pieces between runs of blanks and tabs; no empty pieces.
std::vector<std::string> SplitWhitespace(std::string_view text);
std::string_view Trim(std::string_view text);
std::string Join(const std::vector<std::string>& pieces, std::string_view separator);

// The whole of `text` as a decimal integer in [min, max]; Error(kInvalid) names `what` otherwise.
int64_t ParseInt(std::string_view text, std::string_view what, int64_t min = INT64_MIN,
                 int64_t max = INT64_MAX);

// "1.5 GiB", "312 MiB", "17 B".
std::string HumanBytes(uint64_t bytes);

}  // namespace graphd
