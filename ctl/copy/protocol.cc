// SPDX-License-Identifier: Apache-2.0
#include "ctl/copy/protocol.h"

#include <charconv>
#include <cinttypes>
#include <cstdio>

#include "base/strings.h"

namespace graphd::ctl {

std::string ChecksumText(uint64_t checksum) {
  char text[17];
  std::snprintf(text, sizeof text, "%016" PRIx64, checksum);
  return text;
}

uint64_t ParseChecksum(const std::string& text) {
  uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, 16);
  if (text.size() != 16 || error != std::errc() || end != text.data() + text.size()) {
    Throw(ErrorCode::kInvalid, "checksum '", text.substr(0, 64),
          "': expected 16 hexadecimal digits; is it a graphctl of the same version?");
  }
  return value;
}

}  // namespace graphd::ctl
