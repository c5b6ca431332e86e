// SPDX-License-Identifier: Apache-2.0
#include "ctl/report/feature_rows.h"

#include <algorithm>

#include "base/strings.h"
#include "ctl/report/charts.h"
#include "ctl/statistics/number_text.h"

namespace graphd::ctl {
namespace {

constexpr size_t kMostClasses = 12;  // values shown of each feature

std::string HistogramHtml(const FeatureStatistics& feature) {
  const Histogram& histogram = feature.histogram;
  const double width =
      (histogram.high - histogram.low) / static_cast<double>(histogram.counts.size());
  std::vector<Column> columns;
  for (size_t i = 0; i < histogram.counts.size(); i++) {
    const double low = histogram.low + width * static_cast<double>(i);
    columns.push_back({"", static_cast<double>(histogram.counts[i]),
                       StrCat(ShortNumber(low), " to ", ShortNumber(low + width), ": ",
                              histogram.counts[i], histogram.sampled ? " of a sample" : "")});
  }
  return SmallChart(StrCat("Histogram of ", feature.name), columns);
}

std::string ClassesHtml(const FeatureStatistics& feature) {
  std::vector<std::string> texts;
  for (const FeatureClass& of_value : MostFrequent(feature, kMostClasses)) {
    texts.push_back(StrCat(ClassText(of_value), ": ", Thousands(of_value.count)));
  }
  const size_t more = feature.classes->size() - texts.size();
  const std::string end = more > 0 ? StrCat(" and ", more, " more") : "";
  return StrCat("<tr><td class=\"texts\" colspan=\"10\">",
                Escaped(StrCat("values of ", feature.name, ": ", Join(texts, ", "), end)),
                "</td></tr>\n");
}

}  // namespace

std::string FeatureTableHtml(const std::vector<FeatureStatistics>& features) {
  if (features.empty()) return "<p class=\"soft\">There are no features.</p>\n";
  std::string html = "<table>\n<tr>";
  for (const char* title :
       {"feature", "dtype", "numbers", "NaN", "zeros", "min", "max", "mean", "std", "histogram"}) {
    html += StrCat("<th>", title, "</th>");
  }
  html += "</tr>\n";
  for (const FeatureStatistics& feature : features) {
    const ValueSummary& values = feature.values;
    const bool any = values.finite() > 0;
    html += "<tr>";
    for (const std::string& cell :
         {feature.name, DTypeText(feature), Thousands(values.count),
          PercentText(values.nan, values.count), PercentText(values.zeros, values.count),
          ShortNumber(values.min), ShortNumber(values.max), any ? ShortNumber(values.mean) : "-",
          any ? ShortNumber(values.Deviation()) : "-"}) {
      html += StrCat("<td>", Escaped(cell), "</td>");
    }
    html += StrCat("<td>", HistogramHtml(feature), "</td></tr>\n");
    if (feature.classes && !feature.classes->empty()) html += ClassesHtml(feature);
  }
  return html + "</table>\n";
}

}  // namespace graphd::ctl
