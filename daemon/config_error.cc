// SPDX-License-Identifier: Apache-2.0
#include "daemon/config_error.h"

#include <algorithm>
#include <fstream>
#include <numeric>
#include <utility>
#include <vector>

#include "base/strings.h"

namespace graphd {
namespace {

// The beginning of the message of CLI11 (the parser of options) about a key that is not an option.
constexpr const char* kUnknownKey = "INI was not able to parse ";
constexpr size_t kMostEdits = 3;  // by which a mistyped name may differ from an option

// Returns a name in the form in which options are declared: part_id for --part-id.
std::string Normal(std::string name) {
  name.erase(0, name.find_first_not_of('-'));
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

std::string Trimmed(const std::string& text) {
  const size_t begin = text.find_first_not_of(" \t\r");
  if (begin == std::string::npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t\r") - begin + 1);
}

// Returns the number of the first line that sets `key`, or 0.
size_t LineOf(const std::string& path, const std::string& key) {
  std::ifstream file(path);
  std::string line;
  for (size_t number = 1; std::getline(file, line); number++) {
    if (Normal(Trimmed(line.substr(0, line.find('=')))) == Normal(key)) return number;
  }
  return 0;
}

// Returns how many letters must be inserted, removed or replaced to turn `a` into `b`
// (Levenshtein's distance).
size_t Edits(const std::string& a, const std::string& b) {
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 0; i < a.size(); i++) {
    size_t diagonal = std::exchange(row[0], i + 1);
    for (size_t j = 0; j < b.size(); j++) {
      const size_t replaced = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({replaced, row[j] + 1, diagonal + 1});
    }
  }
  return row.back();
}

// Returns the option with the most similar name, or an empty text if none is similar.
std::string Similar(const CLI::App& app, const std::string& key) {
  std::string best;
  size_t edits = kMostEdits + 1;
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) {
      const size_t distance = Edits(Normal(name), Normal(key));
      if (distance < edits) best = Normal(name);
      edits = std::min(edits, distance);
    }
  }
  return best;
}

}  // namespace

std::string PlaceOf(const std::string& config, const std::string& option) {
  const size_t line = config.empty() ? 0 : LineOf(config, option);
  return line == 0 ? std::string() : StrCat(config, ":", line, ": ");
}

std::string ExplainParseError(const CLI::App& app, const CLI::ParseError& error) {
  // Words that are not options are reported before missing options, because a word may be the name
  // of a file that sets the missing ones.
  if (const std::vector<std::string> words = app.remaining(); !words.empty()) {
    const std::string& word = words.front();
    if (!word.starts_with('-')) {
      return StrCat("'", word, "' is not preceded by an option; write --config ", word,
                    " if it is a file of options (graphd --help lists them)");
    }
    const std::string similar = Similar(app, word.substr(0, word.find('=')));
    return StrCat("'", word, "' is not an option of graphd",
                  similar.empty() ? "; graphd --help lists the options"
                                  : StrCat("; did you mean --", similar, "?"));
  }
  const std::string text = error.what();
  std::string path;
  if (const CLI::Option* config = app.get_config_ptr(); config != nullptr && config->count() > 0) {
    path = config->results().back();
  }
  if (text.rfind(kUnknownKey, 0) == 0) {
    const std::string key = text.substr(std::string(kUnknownKey).size());
    const std::string similar = Similar(app, key);
    return StrCat(PlaceOf(path, key), "'", key, "' is not an option of graphd",
                  similar.empty() ? "; graphd --help lists the options, which are written as "
                                    "name = value"
                                  : StrCat("; did you mean ", similar, "?"));
  }
  if (text.rfind("--", 0) == 0) {
    const std::string place = PlaceOf(path, text.substr(0, text.find_first_of(": ")));
    if (!place.empty()) return place + text;
  }
  return text + " (graphd --help lists the options)";
}

}  // namespace graphd
