// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <optional>
#include <string>

#include "ctl/statistics/graph_statistics.h"
#include "format/io/percent_text.h"

// Numbers as reports for people show them.

namespace graphd::ctl {

// Returns 4 significant digits: "12.35", "1.2e-07".
std::string ShortNumber(double value);
// Returns a whole number with all its digits, another one as ShortNumber does, and "-" for none.
std::string ShortNumber(const std::optional<Number>& number);
// Returns a balance with 3 digits after the point: "1.042".
std::string BalanceText(double balance);
// Returns a whole number with a comma between thousands.
std::string Thousands(uint64_t number);
// Returns the degrees of an element of DegreeSummary::log2_histogram: "0", "1", "2-3", "4-7".
std::string DegreeRange(size_t bucket);
// Returns "float32 x 16, stored as int8".
std::string DTypeText(const FeatureStatistics& feature);
// Returns the name of a class: the text of its label, in quotes after the number, or the number.
std::string ClassText(const FeatureClass& of_value);

}  // namespace graphd::ctl
