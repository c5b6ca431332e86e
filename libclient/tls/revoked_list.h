// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <map>
#include <string>

namespace graphd {

// The certificates that nobody may use any more. In its text, each line has a serial number in
// hexadecimal digits and, for people, the name of the certificate. Empty lines and lines that begin
// with '#' are skipped.
class RevokedList {
 public:
  // Parses the text. Throws Error(kInvalid) with `where`, the line and the remedy.
  static RevokedList Parse(const std::string& text, const std::string& where);
  std::string ToText() const;

  bool Has(const std::string& serial) const { return names_.contains(serial); }
  void Add(const std::string& serial, const std::string& name) { names_[serial] = name; }
  // Adds all certificates of another list.
  void Add(const RevokedList& others) {
    for (const auto& [serial, name] : others.names_) Add(serial, name);
  }
  // Returns the names by serial number.
  const std::map<std::string, std::string>& names() const noexcept { return names_; }

 private:
  std::map<std::string, std::string> names_;
};

}  // namespace graphd
