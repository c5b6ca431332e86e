// SPDX-License-Identifier: Apache-2.0
#include "base/strings.h"

#include <charconv>
#include <cmath>
#include <cstdio>

namespace graphd {

std::vector<std::string> Split(std::string_view text, char separator) {
  std::vector<std::string> pieces;
  for (size_t begin = 0;;) {
    size_t end = text.find(separator, begin);
    if (end == std::string_view::npos) {
      pieces.emplace_back(text.substr(begin));
      return pieces;
    }
    pieces.emplace_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
}

std::vector<std::string> SplitWhitespace(std::string_view text) {
  constexpr std::string_view kBlank = " \t\r\n";
  std::vector<std::string> pieces;
  size_t begin = text.find_first_not_of(kBlank);
  while (begin != std::string_view::npos) {
    size_t end = text.find_first_of(kBlank, begin);
    pieces.emplace_back(text.substr(begin, end - begin));
    begin = text.find_first_not_of(kBlank, end);
  }
  return pieces;
}

std::string_view Trim(std::string_view text) {
  constexpr std::string_view kBlank = " \t\r\n";
  size_t begin = text.find_first_not_of(kBlank);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(kBlank) - begin + 1);
}

std::string Join(const std::vector<std::string>& pieces, std::string_view separator) {
  std::string joined;
  for (size_t i = 0; i < pieces.size(); i++) {
    if (i) joined += separator;
    joined += pieces[i];
  }
  return joined;
}

int64_t ParseInt(std::string_view text, std::string_view what, int64_t min, int64_t max) {
  int64_t value = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || text.empty()) {
    Throw(ErrorCode::kInvalid, what, ": '", text, "' is not a whole number");
  }
  if (value < min || value > max) {
    Throw(ErrorCode::kInvalid, what, ": ", value, " is outside ", min, "..", max);
  }
  return value;
}

bool IsUtf8(std::string_view text) noexcept {
  for (size_t at = 0; at < text.size();) {
    const auto lead = static_cast<unsigned char>(text[at++]);
    if (lead < 0x80) continue;
    const size_t more = lead >= 0xf0 ? 3 : lead >= 0xe0 ? 2 : 1;
    if (lead < 0xc2 || lead > 0xf4 || text.size() - at < more) return false;
    uint32_t code = lead & (0x3fU >> more);
    for (size_t i = 0; i < more; i++) {
      const auto next = static_cast<unsigned char>(text[at++]);
      if ((next & 0xc0) != 0x80) return false;
      code = code << 6 | (next & 0x3fU);
    }
    const uint32_t shortest = more == 3 ? 0x10000 : more == 2 ? 0x800 : 0x80;
    const bool is_surrogate = code >= 0xd800 && code < 0xe000;
    if (code < shortest || code > 0x10ffff || is_surrogate) return false;
  }
  return true;
}

void Truncate(std::string& text, size_t size) {
  if (text.size() <= size) return;
  while (size > 0 && (static_cast<unsigned char>(text[size]) & 0xc0) == 0x80) size--;
  text.resize(size);
  text.shrink_to_fit();
}

std::string Printable(std::string text) {
  for (char& c : text) {
    if (static_cast<unsigned char>(c) < ' ' || c == '\x7f') c = ' ';
  }
  return text;
}

std::string HumanBytes(uint64_t bytes) {
  const char* units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  double value = static_cast<double>(bytes);
  size_t unit = 0;
  while (value >= 1024 && unit < 4) value /= 1024, unit++;
  char text[32];
  std::snprintf(text, sizeof text, unit == 0 || value >= 100 ? "%.0f %s" : "%.1f %s", value,
                units[unit]);
  return text;
}

std::string TransferText(uint64_t done, uint64_t total, double seconds) {
  std::string text = StrCat(HumanBytes(done), " of ", HumanBytes(total));
  const double rate = seconds > 0 ? static_cast<double>(done) / seconds : 0;
  if (rate < 1) return text;
  text += StrCat(", ", HumanBytes(static_cast<uint64_t>(rate)), "/s");
  if (done >= total) return text;
  const double left = static_cast<double>(total - done) / rate;
  return StrCat(text, ", ", std::llround(left), " s left");
}

}  // namespace graphd
