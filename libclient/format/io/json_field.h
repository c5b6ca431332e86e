// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <utility>
#include <vector>

// Reads JSON files that may lie. A JsonField is a value together with the file and the keys that
// lead to it, so that every complaint is Error(kCorrupt) "<file>: node_map._N[3] is 17, expected
// ...". It refers to the document, which must outlive it. Read-only; safe to share.

namespace graphd {

// Parses a file. Throws Error(kNotFound), Error(kCorrupt) with the byte at which it stops being
// JSON.
nlohmann::json ParseJsonFile(const std::string& path);

class JsonField {
 public:
  // The document itself.
  JsonField(const nlohmann::json& document, std::string file)
      : value_(&document), file_(std::move(file)) {}

  bool Has(const std::string& key) const;
  // A member of an object, an element of an array; absent or out of range is an error.
  JsonField operator[](const std::string& key) const;
  JsonField operator[](size_t index) const;

  bool is_array() const noexcept;
  bool is_object() const noexcept;
  bool is_string() const noexcept;
  // Elements of an array. Anything else is an error.
  size_t size() const;
  // Names of an object's members, as the document sorts them. Anything else is an error.
  std::vector<std::string> keys() const;

  // A whole number within [min, max].
  int64_t Int(int64_t min, int64_t max) const;
  std::string String() const;

  const std::string& file() const noexcept { return file_; }
  const std::string& name() const noexcept { return name_; }
  // Throws Error(kCorrupt): "<file>: <name> is <value>, expected <expectation>".
  [[noreturn]] void Fail(const std::string& expectation) const;

 private:
  JsonField(const nlohmann::json& value, std::string file, std::string name)
      : value_(&value), file_(std::move(file)), name_(std::move(name)) {}

  const nlohmann::json* value_;
  std::string file_;
  std::string name_;  // "" for the document
};

}  // namespace graphd
