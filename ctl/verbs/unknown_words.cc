// SPDX-License-Identifier: Apache-2.0
#include "ctl/verbs/unknown_words.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "base/strings.h"

namespace graphd::ctl {
namespace {

// Returns the number of letters to insert, remove or change to turn one word into the other
// (Levenshtein distance).
size_t Distance(const std::string& a, const std::string& b) {
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 0; i < a.size(); i++) {
    size_t diagonal = row[0]++;
    for (size_t j = 0; j < b.size(); j++) {
      const size_t changed = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({changed, row[j] + 1, row[j + 1] + 1});
    }
  }
  return row.back();
}

// Returns ", did you mean 'x'" if one of the names is similar to the word, and otherwise an empty
// text. If several names are equally similar, one that begins with the word is preferred.
std::string Guess(const std::string& word, const std::vector<std::string>& names) {
  const auto difference = [&word](const std::string& name) {
    return std::pair(Distance(word, name), !name.starts_with(word));
  };
  const auto nearest = std::min_element(
      names.begin(), names.end(), [&](auto& a, auto& b) { return difference(a) < difference(b); });
  if (nearest == names.end()) return "";
  // The limit depends on the length, because a short word is near to many unrelated names, such as
  // 'foo' to 'top'.
  const size_t most = std::min(word.size() / 2, word.size() / 3 + 1);
  if (Distance(word, *nearest) > most) return "";
  return ", did you mean '" + *nearest + "'";
}

// Returns all verbs, including hidden ones.
std::vector<const CLI::App*> Verbs(const CLI::App& app) {
  return app.get_subcommands([](const CLI::App*) { return true; });
}

}  // namespace

void RefuseUnknownWords(const CLI::App& app, const std::vector<std::string>& arguments) {
  const CLI::App* verb = &app;
  std::string said = app.get_name();
  for (const std::string& word : arguments) {
    if (word == "--") return;
    if (word.starts_with("--")) {
      const std::string name = word.substr(0, word.find('='));
      std::vector<std::string> names;
      for (const CLI::Option* option : verb->get_options()) {
        for (const std::string& each : option->get_lnames()) names.push_back("--" + each);
      }
      if (std::find(names.begin(), names.end(), name) != names.end()) continue;
      Throw(ErrorCode::kInvalid, "unknown option '", name, "'", Guess(name, names), "; see ", said,
            " --help");
    }
    const std::vector<const CLI::App*> verbs = Verbs(*verb);
    if (verbs.empty() || word.starts_with("-")) continue;
    const auto found = std::find_if(verbs.begin(), verbs.end(),
                                    [&](const CLI::App* each) { return each->get_name() == word; });
    if (found == verbs.end()) {
      std::vector<std::string> names;
      for (const CLI::App* each : verbs) {
        if (!each->get_group().empty()) names.push_back(each->get_name());
      }
      Throw(ErrorCode::kInvalid, "unknown verb '", word, "'", Guess(word, names), "; ", said,
            " has: ", Join(names, ", "));
    }
    verb = *found;
    said += " " + word;
  }
}

}  // namespace graphd::ctl
