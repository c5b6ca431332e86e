// SPDX-License-Identifier: Apache-2.0
#include "format/input/notes.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <span>
#include <utility>

#include "base/index.h"
#include "base/strings.h"
#include "format/io/number_column.h"
#include "format/io/percent_text.h"

namespace graphd {
namespace {

constexpr std::array<std::string_view, 8> kSources{"src",   "source", "from",       "head",
                                                   "start", "src_id", "fromnodeid", "source_id"};
constexpr std::array<std::string_view, 9> kDestinations{
    "dst", "target", "destination", "to", "tail", "end", "dst_id", "tonodeid", "target_id"};
constexpr size_t kMostShown = 40;  // bytes of a text in a sentence

std::string Quoted(std::string_view text) {
  std::string shown(text.substr(0, kMostShown + 4));
  Truncate(shown, kMostShown);
  return StrCat("'", Printable(std::move(shown)), "'");
}

bool IsWholeNumber(std::string_view text) {
  return !text.empty() &&
         std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

// The texts that a condition holds for: their number, and the first of them.
struct Found {
  uint64_t count = 0;
  std::string first;
};

template <class F>
Found Find(const NameTable& names, F&& condition) {
  Found found;
  for (uint64_t i = 0; i < names.size(); i++) {
    if (!condition(names.name(i))) continue;
    if (found.count++ == 0) found.first = Quoted(names.name(i));
  }
  return found;
}

template <class T>
uint64_t CountNaN(const Tensor& values) {
  const std::span<const T> numbers = values.as<T>();
  return static_cast<uint64_t>(
      std::count_if(numbers.begin(), numbers.end(), [](T value) { return std::isnan(value); }));
}

// Returns the position of the column that has one of these names, ignoring case. Returns nothing if
// no column or more than one column has one.
std::optional<size_t> OnlyColumn(const TableFormat& format,
                                 std::span<const std::string_view> names) {
  std::optional<size_t> found;
  for (size_t c = 0; c < format.columns.size(); c++) {
    std::string lower = format.columns[c];
    std::transform(lower.begin(), lower.end(), lower.begin(), [](char letter) {
      return letter >= 'A' && letter <= 'Z' ? static_cast<char>(letter - 'A' + 'a') : letter;
    });
    if (std::find(names.begin(), names.end(), lower) == names.end()) continue;
    if (found) return std::nullopt;
    found = c;
  }
  return found;
}

std::string NamedEndsNote(const EdgeTable& table) {
  const TableFormat& format = table.format;
  const auto src = OnlyColumn(format, kSources), dst = OnlyColumn(format, kDestinations);
  if (!src || !dst || (*src == table.src_column && *dst == table.dst_column)) return "";
  return StrCat(table.path, ": by their positions, column '", format.columns[table.src_column],
                "' has the sources and '", format.columns[table.dst_column],
                "' the destinations; --src_col ", format.columns[*src], " --dst_col ",
                format.columns[*dst], " takes those of these names");
}

std::string CountingColumnNote(const EdgeTable& table) {
  constexpr uint64_t kFewRows = 10;
  const TableFormat& format = table.format;
  if (format.columns.size() < 3 || format.ids.size() < 3) return "";
  const auto could_be_ids = [&](size_t c) {
    return !format.ids[c].text && !format.ids[c].negative;
  };
  const IdCells& first = format.ids[0];
  if (first.cells < kFewRows || !first.are_steps || !could_be_ids(1) || !could_be_ids(2)) return "";
  return StrCat(table.path, ": column '", format.columns[0], "' has the sources and '",
                format.columns[1], "' the destinations, and '", format.columns[0],
                "' counts the first ", first.cells,
                " rows; if it numbers the edges, give --src_col ", format.columns[1], " --dst_col ",
                format.columns[2]);
}

}  // namespace

std::string LabelsNote(const RawFeature& feature) {
  constexpr uint64_t kMost = 20;
  if (!feature.labels) return "";
  const NameTable& names = *feature.labels;
  std::vector<std::string> labels;
  for (uint64_t i = 0; i < std::min(names.size(), kMost); i++) {
    labels.push_back(StrCat(i, " ", Quoted(names.name(i))));
  }
  const uint64_t more = names.size() - labels.size();
  std::string note = StrCat("labels of ", feature.name, ": ", Join(labels, ", "),
                            more > 0 ? StrCat(" and ", more, " more") : "");
  const auto rows = static_cast<uint64_t>(feature.values.num_rows());
  if (more > 0 && names.size() > rows / 2) {
    note += StrCat("; most texts differ, ", names.size(), " different ones in ", rows,
                   " rows: are these labels?");
  }
  const Found texts = Find(names, [](std::string_view name) { return !IsNumberCell(name); });
  if (texts.count == 0 || texts.count == names.size()) return note;
  return StrCat(note, "; ", names.size() - texts.count, " of these ", names.size(),
                " texts are numbers, and ", texts.count, " not, the first ", texts.first,
                ": if the column should have numbers, correct the latter");
}

std::string MissingNote(const std::string& of, const RawFeature& feature) {
  const Tensor& values = feature.values;
  uint64_t nan = 0;
  if (values.dtype() == DType::kFloat32) nan = CountNaN<float>(values);
  if (values.dtype() == DType::kFloat64) nan = CountNaN<double>(values);
  if (nan == 0) return "";
  const auto all = static_cast<uint64_t>(values.num_elements());
  const uint64_t empty = std::min(feature.missing, nan);
  return StrCat("feature '", feature.name, "' of ", of, ": ", nan, " of ", all, " numbers (",
                PercentText(nan, all), ") are NaN",
                empty == 0     ? ""
                : empty == nan ? ", because their cells are empty"
                               : StrCat(", ", empty, " of them because their cells are empty"));
}

std::vector<std::string> MissingNotes(const RawGraph& graph) {
  std::vector<std::string> notes;
  const auto add = [&](const std::string& of, const std::vector<RawFeature>& features) {
    for (const RawFeature& feature : features) {
      if (std::string note = MissingNote(of, feature); !note.empty()) notes.push_back(note);
    }
  };
  for (NodeTypeId t = 0; t < graph.schema.num_ntypes(); t++) {
    add(graph.schema.ntype(t), graph.nodes[Index(t)].features);
  }
  for (EdgeTypeId e = 0; e < graph.schema.num_etypes(); e++) {
    add(graph.schema.etype(e).ToString(), graph.edges[Index(e)].features);
  }
  return notes;
}

std::string LoneNamesNote(const std::string& ntype, const NameTable& names) {
  const Found texts = Find(names, [](std::string_view name) { return !IsWholeNumber(name); });
  if (texts.count == 0 || texts.count >= names.size() - texts.count) return "";
  return StrCat(texts.count, " of ", names.size(), " names of ", ntype,
                " are not whole numbers, the first ", texts.first,
                "; without them, the others would be used as ids, not as names");
}

std::string EndColumnsNote(const EdgeTable& table, const CanonicalEdgeType& type) {
  const TableFormat& format = table.format;
  if (format.columns.size() < 2) return "";
  const bool by_position = table.src_column == 0 && table.dst_column == 1;
  const bool by_type =
      format.columns[table.src_column] == type.src && format.columns[table.dst_column] == type.dst;
  if (!by_position || by_type) return "";
  if (!format.header) return CountingColumnNote(table);
  const std::string note = NamedEndsNote(table);
  const bool is_named = OnlyColumn(format, kSources) == table.src_column ||
                        OnlyColumn(format, kDestinations) == table.dst_column;
  return note.empty() && !is_named ? CountingColumnNote(table) : note;
}

}  // namespace graphd
