// SPDX-License-Identifier: Apache-2.0
#include "tls/revoked_list.h"

#include <algorithm>

#include "base/strings.h"

namespace graphd {
namespace {

bool IsSerial(const std::string& text) {
  return !text.empty() && text.find_first_not_of("0123456789abcdef") == std::string::npos;
}

}  // namespace

RevokedList RevokedList::Parse(const std::string& text, const std::string& where) {
  RevokedList list;
  size_t number = 0;
  for (const std::string& line : Split(text, '\n')) {
    number++;
    std::vector<std::string> words = SplitWhitespace(Trim(line));
    if (words.empty() || words[0][0] == '#') continue;
    std::transform(words[0].begin(), words[0].end(), words[0].begin(),
                   [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    if (words.size() > 2 || !IsSerial(words[0])) {
      Throw(ErrorCode::kInvalid, where, ":", number,
            ": not a serial number in hexadecimal digits and a name; repair the line, or write ",
            "the file with `graphctl keys revoke`");
    }
    list.Add(words[0], words.size() > 1 ? words[1] : "");
  }
  return list;
}

std::string RevokedList::ToText() const {
  std::string text = "# Revoked certificates: serial number and name (graphctl keys revoke)\n";
  for (const auto& [serial, name] : names_) text += StrCat(serial, " ", name, "\n");
  return text;
}

}  // namespace graphd
