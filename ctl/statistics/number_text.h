// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <optional>
#include <string>

#include "ctl/statistics/graph_statistics.h"
#include "format/io/percent_text.h"

// Functions that format numbers for reports that people read.

namespace graphd::ctl {

// Returns a number with at most 4 significant digits: "12.35", "1.2e-07".
std::string ShortNumber(double value);
// Returns a whole number with all its digits, any other number with 4 significant digits, and "-"
// if there is none.
std::string ShortNumber(const std::optional<Number>& number);
// Returns a balance (ctl/statistics/balance.h) with 3 digits after the point: "1.042".
std::string BalanceText(double balance);
// Returns a whole number with a comma between thousands.
std::string Thousands(uint64_t number);
// Returns the range of degrees that an element of DegreeSummary::log2_histogram counts: "0", "1",
// "2-3", "4-7".
std::string DegreeRange(size_t bucket);
// Returns the dtype and shape of a feature's rows, such as "float32 x 16, stored as int8".
std::string DTypeText(const FeatureStatistics& feature);
// Returns the name of a class: its number and, if its label has a text, the text in quotes.
std::string ClassText(const FeatureClass& of_value);

}  // namespace graphd::ctl
