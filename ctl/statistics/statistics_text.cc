// SPDX-License-Identifier: Apache-2.0
#include "ctl/statistics/statistics_text.h"

#include <algorithm>
#include <string_view>
#include <vector>

#include "base/strings.h"
#include "ctl/plan/table.h"
#include "ctl/statistics/balance.h"
#include "ctl/statistics/number_text.h"

namespace graphd::ctl {
namespace {

constexpr size_t kMostClasses = 20;  // values shown of each feature; --json has all
constexpr size_t kMostParts = 64;    // rows of the table of partitions; --json has all

using Rows = std::vector<std::vector<std::string>>;

// Returns the lines of a table with `indent` before each; the first column is aligned to the left.
std::string TableText(const Rows& rows, const char* indent) {
  std::string text;
  for (const std::string& line : AlignTable(rows, 1)) text += StrCat(indent, line, "\n");
  return text;
}

std::string PartsText(const GraphStatistics& statistics) {
  Rows rows{{"partition", "nodes", "edges", "cut edges", "halo nodes", "size"}};
  const size_t shown = std::min(statistics.parts.size(), kMostParts);
  for (size_t i = 0; i < shown; i++) {
    rows.push_back({StrCat(statistics.parts[i]), StrCat(statistics.nodes_in(i)),
                    StrCat(statistics.edges_in(i)), StrCat(statistics.cut_in(i)),
                    StrCat(statistics.halo_in(i)), HumanBytes(statistics.bytes[i])});
  }
  const size_t more = statistics.parts.size() - shown;
  return TableText(rows, "") + (more > 0 ? StrCat("and ", more, " more (--json shows all)\n") : "");
}

std::string DegreesText(const char* name, const DegreeSummary& degrees) {
  std::string text =
      StrCat("  ", name, ": min ", degrees.min, ", median ", ShortNumber(degrees.median), ", mean ",
             ShortNumber(degrees.mean), ", max ", degrees.max, ", ", degrees.zero, " of ",
             degrees.nodes, " nodes have none\n");
  std::vector<std::string> buckets;
  for (size_t i = 0; i < degrees.log2_histogram.size(); i++) {
    if (degrees.log2_histogram[i] == 0) continue;
    buckets.push_back(StrCat(DegreeRange(i), ": ", degrees.log2_histogram[i]));
  }
  return text + (buckets.empty() ? "" : StrCat("    nodes by degree  ", Join(buckets, "  "), "\n"));
}

std::string ClassesText(const FeatureStatistics& feature) {
  std::vector<std::string> pieces;
  for (const FeatureClass& of_value : MostFrequent(feature, kMostClasses)) {
    pieces.push_back(StrCat(ClassText(of_value), ": ", of_value.count));
  }
  const size_t more = feature.classes->size() - pieces.size();
  return StrCat("    values of ", feature.name, "  ", Join(pieces, "  "),
                more > 0 ? StrCat("  and ", more, " more") : "", "\n");
}

std::string FeaturesText(const std::vector<FeatureStatistics>& features) {
  if (features.empty()) return "";
  Rows rows{{"feature", "dtype", "numbers", "nan", "zeros", "min", "max", "mean", "std"}};
  std::string classes;
  for (const FeatureStatistics& feature : features) {
    const ValueSummary& values = feature.values;
    const bool any = values.finite() > 0;
    rows.push_back({feature.name, DTypeText(feature), StrCat(values.count),
                    PercentText(values.nan, values.count), PercentText(values.zeros, values.count),
                    ShortNumber(values.min), ShortNumber(values.max),
                    any ? ShortNumber(values.mean) : "-",
                    any ? ShortNumber(values.Deviation()) : "-"});
    if (feature.classes && !feature.classes->empty()) classes += ClassesText(feature);
  }
  return TableText(rows, "  ") + classes;
}

}  // namespace

std::string StatisticsToText(const GraphStatistics& statistics) {
  std::string text = PartsText(statistics);
  const auto edges = static_cast<uint64_t>(statistics.edges());
  const auto cut = static_cast<uint64_t>(statistics.cut());
  text += StrCat("edge cut   ", cut, " of ", edges, " edges (", PercentText(cut, edges),
                 ") come from another partition\n");
  if (NodeBalance(statistics)) {
    text += StrCat("balance    largest partition over the average: nodes ",
                   BalanceText(*NodeBalance(statistics)), ", edges ",
                   BalanceText(*EdgeBalance(statistics)), ", size ",
                   BalanceText(*ByteBalance(statistics)), "\n");
  }
  for (const NodeTypeStatistics& type : statistics.ntypes) {
    text += StrCat("nodes ", type.name, ": ", type.nodes);
    if (type.isolated) text += StrCat(", ", *type.isolated, " without an edge");
    text += "\n" + FeaturesText(type.features);
  }
  for (const EdgeTypeStatistics& type : statistics.etypes) {
    text += StrCat("edges ", type.name, ": ", type.edges, ", ", type.cut, " cut\n");
    text += DegreesText("in-degrees", type.in_degrees);
    if (type.out_degrees) text += DegreesText("out-degrees", *type.out_degrees);
    text += FeaturesText(type.features);
  }
  return text;
}

}  // namespace graphd::ctl
