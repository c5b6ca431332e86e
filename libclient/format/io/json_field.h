// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <utility>
#include <vector>

// Reads JSON files that may have unexpected contents. A JsonField is a value together with its file
// and the keys that lead to it, so that every error is Error(kCorrupt) "<file>: node_map._N[3] is
// 17, expected ...". The document must outlive the fields that refer to it. Read-only; safe to
// share between threads.

namespace graphd {

// Parses a file. Throws Error(kNotFound), or Error(kCorrupt) with the position of the syntax error.
nlohmann::json ParseJsonFile(const std::string& path);

class JsonField {
 public:
  // Creates the field of the whole document.
  JsonField(const nlohmann::json& document, std::string file)
      : value_(&document), file_(std::move(file)) {}

  bool Has(const std::string& key) const;
  // Return a member of an object and an element of an array; throw if it is absent or out of range.
  JsonField operator[](const std::string& key) const;
  JsonField operator[](size_t index) const;

  bool is_array() const noexcept;
  bool is_object() const noexcept;
  bool is_string() const noexcept;
  // Returns the number of elements of an array. Throws for any other value.
  size_t size() const;
  // Returns the sorted names of an object's members. Throws for any other value.
  std::vector<std::string> keys() const;

  // Returns a whole number within [min, max]; throws otherwise.
  int64_t Int(int64_t min, int64_t max) const;
  // Returns a number; throws for any other value.
  double Number() const;
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
