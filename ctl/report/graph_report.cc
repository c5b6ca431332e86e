// SPDX-License-Identifier: Apache-2.0
#include "ctl/report/graph_report.h"

#include <algorithm>
#include <functional>
#include <optional>
#include <vector>

#include "base/index.h"
#include "base/strings.h"
#include "ctl/report/charts.h"
#include "ctl/report/feature_rows.h"
#include "ctl/report/report_html.h"
#include "ctl/statistics/balance.h"
#include "ctl/statistics/number_text.h"

namespace graphd::ctl {
namespace {

constexpr size_t kMostRows = 64;      // of the table of partitions
constexpr size_t kMostColumns = 512;  // of a chart of partitions
constexpr size_t kMostSquares = 64;   // partitions of the matrix

std::string Tile(const std::string& value, const std::string& of) {
  return StrCat("<div class=\"tile\"><b>", Escaped(value), "</b><span class=\"soft\">", Escaped(of),
                "</span></div>\n");
}

std::string Thousands(int64_t number) { return ctl::Thousands(static_cast<uint64_t>(number)); }

class Report {
 public:
  Report(const PartConfig& config, const GraphStatistics& statistics)
      : config_(config), statistics_(statistics) {}

  std::string Html() const {
    std::string page = kReportHtml;
    const std::string name = config_.meta->graph_name;
    Replace(page, "<!--TITLE-->", Escaped(StrCat(name, " - graphd")));
    Replace(page, "<!--CONTENT-->",
            StrCat(Head(name), Tiles(), Notes(), Partitions(), Balance(), Cut(), Degrees(),
                   Features(), "<footer class=\"soft\">Made by graphctl inspect.</footer>"));
    return page;
  }

 private:
  static void Replace(std::string& page, const std::string& mark, const std::string& by) {
    page.replace(page.find(mark), mark.size(), by);
  }

  std::string Head(const std::string& name) const {
    const char* format = config_.format == PartFormat::kNative ? "native partitions" : "DGL";
    return StrCat("<header><h1>", Escaped(name), "</h1><span class=\"soft\">",
                  Escaped(StrCat(config_.path, ", ", format, ", ", config_.meta->part_method)),
                  "</span></header>\n");
  }

  std::string Tiles() const {
    const auto edges = static_cast<uint64_t>(statistics_.edges());
    const auto cut = static_cast<uint64_t>(statistics_.cut());
    uint64_t bytes = 0;
    for (const uint64_t of_part : statistics_.bytes) bytes += of_part;
    std::string html = "<div class=\"tiles\">\n";
    html += Tile(Thousands(statistics_.nodes()), "nodes");
    html += Tile(Thousands(statistics_.edges()), "edges");
    html += Tile(StrCat(statistics_.parts.size()), "partitions");
    html += Tile(HumanBytes(bytes), "size");
    html += Tile(PercentText(cut, edges), "edges cut");
    const std::pair<const char*, std::optional<double>> balances[] = {
        {"nodes", NodeBalance(statistics_)},
        {"edges", EdgeBalance(statistics_)},
        {"size", ByteBalance(statistics_)}};
    for (const auto& [what, balance] : balances) {
      if (balance) html += Tile(BalanceText(*balance), StrCat("largest / average, ", what));
    }
    return html + "</div>\n";
  }

  std::string Notes() const {
    std::vector<std::string> notes;
    if (static_cast<int32_t>(statistics_.parts.size()) < statistics_.num_parts) {
      notes.push_back(StrCat("This report is of ", statistics_.parts.size(), " of ",
                             statistics_.num_parts,
                             " partitions. Out-degrees and nodes without edges need all of them."));
    }
    if (statistics_.memory_for_degrees > 0) {
      notes.push_back(StrCat("Out-degrees and nodes without edges were not counted, because that ",
                             "needs ", HumanBytes(statistics_.memory_for_degrees), " of memory."));
    }
    std::string html;
    for (const std::string& note : notes) html += StrCat("<p class=\"note\">", note, "</p>\n");
    return html;
  }

  std::string Partitions() const {
    std::string html = "<section><h2>Partitions</h2>\n<table>\n<tr>";
    for (const char* title :
         {"partition", "nodes", "edges", "cut edges", "share", "halo nodes", "size"}) {
      html += StrCat("<th>", title, "</th>");
    }
    html += "</tr>\n";
    const size_t shown = std::min(statistics_.parts.size(), kMostRows);
    for (size_t i = 0; i < shown; i++) {
      html +=
          StrCat("<tr><td>", statistics_.parts[i], "</td><td>", Thousands(statistics_.nodes_in(i)),
                 "</td><td>", Thousands(statistics_.edges_in(i)), "</td><td>",
                 Thousands(statistics_.cut_in(i)), "</td><td>",
                 PercentText(static_cast<uint64_t>(statistics_.cut_in(i)),
                             static_cast<uint64_t>(statistics_.edges_in(i))),
                 "</td><td>", Thousands(statistics_.halo_in(i)), "</td><td>",
                 HumanBytes(statistics_.bytes[i]), "</td></tr>\n");
    }
    html += "</table>\n";
    if (shown < statistics_.parts.size()) {
      html += StrCat("<p class=\"soft\">", statistics_.parts.size() - shown,
                     " more partitions are not listed; graphctl inspect --json lists them.</p>\n");
    }
    return html +
           "<p class=\"soft\">A cut edge comes from a node of another partition; halo nodes are "
           "these nodes, each counted once per partition.</p>\n</section>\n";
  }

  // Returns a chart with a column for each partition and a line at their average.
  std::string PartChart(const std::string& what,
                        const std::function<std::pair<double, std::string>(size_t)>& value) const {
    std::vector<Column> columns;
    double sum = 0, most = 0;
    std::string top = "0";
    for (size_t i = 0; i < statistics_.parts.size(); i++) {
      const auto [number, text] = value(i);
      const std::string part = StrCat(statistics_.parts[i]);
      columns.push_back({part, number, StrCat("partition ", part, ": ", text)});
      sum += number;
      if (number > most) {
        most = number;
        top = text;
      }
    }
    return StrCat("<div><h3>", Escaped(what), "</h3>\n",
                  ColumnChart(StrCat(what, " by partition"), columns, top,
                              sum / static_cast<double>(columns.size())),
                  "</div>\n");
  }

  std::string CountChart(const std::string& what, const std::vector<int64_t>& counts) const {
    return PartChart(what, [&](size_t i) {
      return std::pair(static_cast<double>(counts[i]), Thousands(counts[i]));
    });
  }

  std::string Balance() const {
    std::string html = "<section><h2>Balance</h2>\n";
    if (statistics_.parts.size() > kMostColumns) {
      return html + "<p>There are too many partitions for a chart.</p>\n</section>\n";
    }
    html += "<div class=\"charts\">\n";
    html += PartChart("Size in bytes", [&](size_t i) {
      return std::pair(static_cast<double>(statistics_.bytes[i]), HumanBytes(statistics_.bytes[i]));
    });
    for (const NodeTypeStatistics& type : statistics_.ntypes) {
      html += CountChart("Nodes " + type.name, type.by_part);
    }
    for (const EdgeTypeStatistics& type : statistics_.etypes) {
      html += CountChart("Edges " + type.name, type.by_part);
    }
    std::vector<int64_t> halo;
    for (size_t i = 0; i < statistics_.parts.size(); i++) halo.push_back(statistics_.halo_in(i));
    html += CountChart("Halo nodes", halo);
    return html + "</div>\n<p class=\"soft\">The dashed line is the average.</p>\n</section>\n";
  }

  std::string Cut() const {
    std::string html = "<section><h2>Edges between partitions</h2>\n";
    if (statistics_.edges_from.empty() || Index(statistics_.num_parts) > kMostSquares) {
      return StrCat(html, "<p>There are too many partitions for a matrix: ", statistics_.num_parts,
                    ".</p>\n</section>\n");
    }
    if (statistics_.parts.size() < Index(statistics_.num_parts)) {
      return html + "<p>The matrix needs all partitions.</p>\n</section>\n";
    }
    return StrCat(html,
                  MatrixChart("Edges between partitions", statistics_.edges_from, "to", "from"),
                  "<p class=\"soft\">A row has the edges that a partition owns, because their ",
                  "destinations are its nodes; a column has those whose sources a partition ",
                  "owns.</p>\n</section>\n");
  }

  static std::string DegreeChart(const std::string& what, const DegreeSummary& degrees) {
    std::vector<Column> columns;
    uint64_t most = 0;
    for (size_t i = 0; i < degrees.log2_histogram.size(); i++) {
      const uint64_t nodes = degrees.log2_histogram[i];
      most = std::max(most, nodes);
      columns.push_back({DegreeRange(i), static_cast<double>(nodes),
                         StrCat("degree ", DegreeRange(i), ": ", ctl::Thousands(nodes), " nodes")});
    }
    return StrCat("<div><h3>", what, "</h3>\n", ColumnChart(what, columns, ctl::Thousands(most)),
                  "<p class=\"soft\">min ", degrees.min, ", median ", ShortNumber(degrees.median),
                  ", mean ", ShortNumber(degrees.mean), ", max ", degrees.max, "; ",
                  ctl::Thousands(degrees.zero), " of ", ctl::Thousands(degrees.nodes),
                  " nodes have none</p></div>\n");
  }

  std::string Degrees() const {
    std::string html = "<section><h2>Degrees</h2>\n";
    for (const EdgeTypeStatistics& type : statistics_.etypes) {
      html += StrCat("<h3>", Escaped(type.name), "</h3>\n<div class=\"charts\">\n",
                     DegreeChart("Nodes by in-degree", type.in_degrees));
      if (type.out_degrees) html += DegreeChart("Nodes by out-degree", *type.out_degrees);
      html += "</div>\n";
    }
    for (const NodeTypeStatistics& type : statistics_.ntypes) {
      if (!type.isolated) continue;
      html += StrCat("<p>", Thousands(*type.isolated), " of ", Thousands(type.nodes), " nodes ",
                     Escaped(type.name), " have no edge.</p>\n");
    }
    return html + "</section>\n";
  }

  std::string Features() const {
    std::string html = "<section><h2>Features</h2>\n";
    for (const NodeTypeStatistics& type : statistics_.ntypes) {
      html += StrCat("<h3>Nodes ", Escaped(type.name), "</h3>\n", FeatureTableHtml(type.features));
    }
    for (const EdgeTypeStatistics& type : statistics_.etypes) {
      html += StrCat("<h3>Edges ", Escaped(type.name), "</h3>\n", FeatureTableHtml(type.features));
    }
    return StrCat(html,
                  "<p class=\"soft\">NaN and zeros are shares of all numbers; the other columns ",
                  "are of finite ones. Histograms of many numbers are made from a sample.</p>\n",
                  "</section>\n");
  }

  const PartConfig& config_;
  const GraphStatistics& statistics_;
};

}  // namespace

std::string GraphReport(const PartConfig& config, const GraphStatistics& statistics) {
  return Report(config, statistics).Html();
}

}  // namespace graphd::ctl
