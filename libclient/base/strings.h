// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "graphd/error.h"

// Small text helpers. They have no state and ignore the locale.

namespace graphd {

// Streams all arguments into one string: StrCat("partition ", 3, " of ", name).
template <class... Args>
std::string StrCat(const Args&... args) {
  std::ostringstream out;
  (out << ... << args);
  return out.str();
}

// Throws Error(code, StrCat(args...)).
template <class... Args>
[[noreturn]] void Throw(ErrorCode code, const Args&... args) {
  throw Error(code, StrCat(args...));
}

// Returns the pieces between `separator`s; empty pieces are kept.
std::vector<std::string> Split(std::string_view text, char separator);
// Returns the pieces between runs of blanks and tabs; none of them is empty.
std::vector<std::string> SplitWhitespace(std::string_view text);
std::string_view Trim(std::string_view text);
std::string Join(const std::vector<std::string>& pieces, std::string_view separator);

// Parses all of `text` as a decimal integer in [min, max]. Throws Error(kInvalid) naming `what`
// otherwise.
int64_t ParseInt(std::string_view text, std::string_view what, int64_t min = INT64_MIN,
                 int64_t max = INT64_MAX);

// Returns whether the text is valid UTF-8, which JSON needs.
bool IsUtf8(std::string_view text) noexcept;

// Truncates a text of UTF-8 to at most `size` bytes, but not within a character; frees the rest.
void Truncate(std::string& text, size_t size);

// Replaces the control characters of a text by blanks, for a terminal.
std::string Printable(std::string text);

// Returns a size for people: "1.5 GiB", "312 MiB", "17 B".
std::string HumanBytes(uint64_t bytes);

// Returns how far a transfer has come, for people: "1.2 GiB of 4.0 GiB, 310 MiB/s, 9 s left".
std::string TransferText(uint64_t done, uint64_t total, double seconds);

}  // namespace graphd
