// SPDX-License-Identifier: Apache-2.0
#include "format/io/json_field.h"

#include <nlohmann/json.hpp>

#include "base/file.h"
#include "base/strings.h"

namespace graphd {
namespace {

using nlohmann::json;

// Describes a value, short enough for a message.
std::string Describe(const json& value) {
  if (value.is_object()) return StrCat("an object of ", value.size(), " members");
  if (value.is_array()) return StrCat("a list of ", value.size(), " elements");
  std::string text = value.dump(-1, ' ', false, json::error_handler_t::replace);
  if (text.size() > 80) text = text.substr(0, 77) + "...";
  return text;
}

}  // namespace

json ParseJsonFile(const std::string& path) {
  const std::string text = ReadTextFile(path);
  try {
    return json::parse(text);
  } catch (const json::exception& error) {
    Throw(ErrorCode::kCorrupt, path, ": not JSON: ", error.what());
  }
}

bool JsonField::Has(const std::string& key) const {
  return value_->is_object() && value_->contains(key);
}

JsonField JsonField::operator[](const std::string& key) const {
  if (!value_->is_object()) Fail("an object with the key '" + key + "'");
  const auto found = value_->find(key);
  const std::string name = name_.empty() ? key : name_ + "." + key;
  if (found == value_->end()) {
    Throw(ErrorCode::kCorrupt, file_, ": the key ", name, " is missing");
  }
  return {*found, file_, name};
}

JsonField JsonField::operator[](size_t index) const {
  if (!value_->is_array() || index >= value_->size()) {
    Fail(StrCat("a list of more than ", index, " elements"));
  }
  return {(*value_)[index], file_, StrCat(name_, "[", index, "]")};
}

bool JsonField::is_array() const noexcept { return value_->is_array(); }
bool JsonField::is_object() const noexcept { return value_->is_object(); }
bool JsonField::is_string() const noexcept { return value_->is_string(); }

size_t JsonField::size() const {
  if (!value_->is_array()) Fail("a list");
  return value_->size();
}

std::vector<std::string> JsonField::keys() const {
  if (!value_->is_object()) Fail("an object");
  std::vector<std::string> keys;
  for (const auto& member : value_->items()) keys.push_back(member.key());
  return keys;
}

int64_t JsonField::Int(int64_t min, int64_t max) const {
  const std::string expectation = StrCat("a whole number in ", min, "..", max);
  if (!value_->is_number_integer()) Fail(expectation);
  if (value_->is_number_unsigned() && value_->get<uint64_t>() > uint64_t{INT64_MAX}) {
    Fail(expectation);
  }
  const auto number = value_->get<int64_t>();
  if (number < min || number > max) Fail(expectation);
  return number;
}

double JsonField::Number() const {
  if (!value_->is_number()) Fail("a number");
  return value_->get<double>();
}

std::string JsonField::String() const {
  if (!value_->is_string()) Fail("a string");
  return value_->get<std::string>();
}

void JsonField::Fail(const std::string& expectation) const {
  Throw(ErrorCode::kCorrupt, file_, ": ", name_.empty() ? "the document" : name_, " is ",
        Describe(*value_), ", expected ", expectation);
}

}  // namespace graphd
