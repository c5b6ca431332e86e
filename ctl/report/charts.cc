// SPDX-License-Identifier: Apache-2.0
#include "ctl/report/charts.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "base/strings.h"
#include "ctl/statistics/number_text.h"

namespace graphd::ctl {
namespace {

constexpr double kWidth = 520, kHeight = 150;  // user units of a chart
constexpr double kDigit = 6.5;                 // width of a digit, and a little more
constexpr double kBelow = 18, kAbove = 16;     // room for labels, and for the scale

// Returns a coordinate with one digit after the point.
std::string At(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f", value);
  return text;
}

std::string Rect(double x, double y, double width, double height, const std::string& attributes,
                 const std::string& text) {
  return StrCat("<rect x=\"", At(x), "\" y=\"", At(y), "\" width=\"", At(width), "\" height=\"",
                At(height), "\"", attributes, "><title>", Escaped(text), "</title></rect>\n");
}

std::string Label(double x, double y, const char* anchor, const std::string& text,
                  const char* of_class = "") {
  return StrCat("<text x=\"", At(x), "\" y=\"", At(y), "\" text-anchor=\"", anchor, "\"",
                *of_class != '\0' ? StrCat(" class=\"", of_class, "\"") : "", ">", Escaped(text),
                "</text>\n");
}

std::string Line(double x1, double y1, double x2, double y2, const char* attributes = "") {
  return StrCat("<line x1=\"", At(x1), "\" y1=\"", At(y1), "\" x2=\"", At(x2), "\" y2=\"", At(y2),
                "\"", attributes, "/>\n");
}

std::string Begin(const std::string& title, double width, double height, const char* of_class) {
  return StrCat("<svg viewBox=\"0 0 ", At(width), " ", At(height), "\" role=\"img\" aria-label=\"",
                Escaped(title), "\"", *of_class != '\0' ? StrCat(" class=\"", of_class, "\"") : "",
                ">\n<title>", Escaped(title), "</title>\n");
}

double Largest(const std::vector<Column>& columns, double least) {
  for (const Column& column : columns) least = std::max(least, column.value);
  return least > 0 ? least : 1;
}

// Returns n such that labels don't overlap if only every n-th column has one.
size_t LabelStep(const std::vector<Column>& columns) {
  size_t longest = 1;
  for (const Column& column : columns) longest = std::max(longest, column.label.size());
  const double room = static_cast<double>(longest) * kDigit + 6;
  const double width = kWidth / static_cast<double>(columns.size());
  return static_cast<size_t>(std::max(1.0, std::ceil(room / width)));
}

}  // namespace

std::string Escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      case '\'':
        out += "&#39;";
        break;
      default:
        if (static_cast<unsigned char>(c) < ' ' || c == '\x7f') {
          out += "\uFFFD";
        } else {
          out += c;
        }
    }
  }
  return out;
}

std::string ColumnChart(const std::string& title, const std::vector<Column>& columns,
                        const std::string& top, std::optional<double> mean) {
  if (columns.empty()) return "";
  const double most = Largest(columns, mean.value_or(0));
  const double bottom = kHeight - kBelow, plot = bottom - kAbove;
  const double step = kWidth / static_cast<double>(columns.size());
  const double width = std::clamp(step * 0.85, 0.5, 64.0);
  std::string svg = Begin(title, kWidth, kHeight, "");
  svg += Line(0, kAbove, kWidth, kAbove) + Line(0, bottom, kWidth, bottom);
  svg += Label(0, kAbove - 4, "start", top);
  const size_t label_step = LabelStep(columns);
  for (size_t i = 0; i < columns.size(); i++) {
    const double middle = step * (static_cast<double>(i) + 0.5);
    const double height = plot * columns[i].value / most;
    // A column with a value remains visible, however small the value is.
    const double shown = columns[i].value > 0 ? std::max(height, 1.0) : 0;
    svg += Rect(middle - width / 2, bottom - shown, width, shown, "", columns[i].text);
    if (i % label_step == 0) {
      const double half =
          std::min(kDigit * static_cast<double>(columns[i].label.size()) / 2, 100.0);
      svg +=
          Label(std::clamp(middle, half, kWidth - half), kHeight - 5, "middle", columns[i].label);
    }
  }
  if (mean) {
    const double y = bottom - plot * *mean / most;
    svg += Line(0, y, kWidth, y, " class=\"mean\"");
  }
  return svg + "</svg>\n";
}

std::string SmallChart(const std::string& title, const std::vector<Column>& columns) {
  if (columns.empty()) return "";
  constexpr double kSmallWidth = 130, kSmallHeight = 32;
  const double most = Largest(columns, 0);
  const double step = kSmallWidth / static_cast<double>(columns.size());
  const double gap = std::min(step * 0.15, 2.0);
  std::string svg = Begin(title, kSmallWidth, kSmallHeight, "small");
  for (size_t i = 0; i < columns.size(); i++) {
    const double height = (kSmallHeight - 2) * columns[i].value / most;
    const double shown = columns[i].value > 0 ? std::max(height, 1.0) : 0;
    svg += Rect(step * static_cast<double>(i) + gap / 2, kSmallHeight - 1 - shown, step - gap,
                shown, "", columns[i].text);
  }
  svg += Line(0, kSmallHeight - 0.5, kSmallWidth, kSmallHeight - 0.5);
  return svg + "</svg>\n";
}

std::string MatrixChart(const std::string& title, const std::vector<std::vector<int64_t>>& rows,
                        const std::string& row_title, const std::string& column_title) {
  const size_t size = rows.empty() ? 0 : rows[0].size();
  if (size == 0) return "";
  constexpr double kSide = 600, kBefore = 40;
  const double side = kSide / static_cast<double>(std::max(size, rows.size()));
  const bool has_texts = size <= 8;
  const size_t label_step = size <= 32 ? 1 : 4;
  int64_t most = 1;
  for (size_t r = 0; r < rows.size(); r++) {
    for (size_t c = 0; c < size; c++) {
      if (r != c) most = std::max(most, rows[r][c]);
    }
  }
  const double height = kBefore + side * static_cast<double>(rows.size()) + 2;
  std::string svg = Begin(title, kBefore + kSide + 2, height, "matrix");
  svg += Label(kBefore, 12, "start", StrCat(column_title, " →"));
  svg += Label(0, 12, "start", StrCat(row_title, " ↓"));
  for (size_t c = 0; c < size; c += label_step) {
    svg += Label(kBefore + side * (static_cast<double>(c) + 0.5), kBefore - 8, "middle", StrCat(c));
  }
  for (size_t r = 0; r < rows.size(); r++) {
    const double y = kBefore + side * static_cast<double>(r);
    if (r % label_step == 0) svg += Label(kBefore - 8, y + side / 2 + 4, "end", StrCat(r));
    for (size_t c = 0; c < size; c++) {
      const double x = kBefore + side * static_cast<double>(c);
      const double share = static_cast<double>(rows[r][c]) / static_cast<double>(most);
      char shade[64];
      std::snprintf(shade, sizeof shade, " fill-opacity=\"%.3f\"", 0.75 * share);
      const std::string count = Thousands(static_cast<uint64_t>(rows[r][c]));
      svg += Rect(x + 0.5, y + 0.5, side - 1, side - 1, r == c ? " class=\"frame\"" : shade,
                  StrCat(count, ": ", row_title, " ", r, ", ", column_title, " ", c));
      if (has_texts) svg += Label(x + side / 2, y + side / 2 + 4, "middle", count, "in");
    }
  }
  return svg + "</svg>\n";
}

}  // namespace graphd::ctl
