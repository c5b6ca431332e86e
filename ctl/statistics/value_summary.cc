// SPDX-License-Identifier: Apache-2.0
#include "ctl/statistics/value_summary.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>

#include "ctl/statistics/visit_elements.h"

namespace graphd::ctl {
namespace {

// Converts a mean or a deviation of finite numbers to double. The true value is finite, but
// rounding errors could have made `value` larger than the largest double.
double ToFinite(long double value) {
  constexpr long double kMost = std::numeric_limits<double>::max();
  return static_cast<double>(std::clamp(value, -kMost, kMost));
}

// Summarizes elements of one type. It adds up the differences from the first finite element instead
// of the elements themselves: the squares of large numbers, such as times, would use up all digits
// of the sum, so that small deviations would be lost. The sums for float64 are of the type long
// double, in which even the square of the largest float64 is finite.
template <class T, class Convert>
ValueSummary SummarizeSpan(std::span<const T> elements, const Convert& convert) {
  using Wide = decltype(convert(T()));
  ValueSummary summary;
  summary.count = elements.size();
  Wide low = std::numeric_limits<Wide>::max(), high = std::numeric_limits<Wide>::lowest();
  using Sum = std::conditional_t<std::is_same_v<T, double>, long double, double>;
  Sum origin = 0, sum = 0, squares = 0;
  bool any = false;
  for (const T& element : elements) {
    const Wide value = convert(element);
    if constexpr (std::is_same_v<Wide, double>) {
      if (!std::isfinite(value)) {
        (std::isnan(value) ? summary.nan : summary.infinite)++;
        continue;
      }
    }
    if (!any) origin = static_cast<Sum>(value);
    any = true;
    summary.zeros += value == 0;
    low = std::min(low, value);
    high = std::max(high, value);
    const Sum difference = static_cast<Sum>(value) - origin;
    sum += difference;
    squares += difference * difference;
  }
  if (!any) return summary;
  const auto finite = static_cast<Sum>(summary.finite());
  summary.min = low;
  summary.max = high;
  summary.mean = ToFinite(origin + sum / finite);
  summary.squares = std::max(Sum(0), squares - sum * (sum / finite));
  return summary;
}

}  // namespace

double ToDouble(const Number& number) noexcept {
  return std::visit([](auto value) { return static_cast<double>(value); }, number);
}

double ValueSummary::Deviation() const noexcept {
  if (finite() == 0) return 0;
  return ToFinite(std::sqrt(squares / static_cast<long double>(finite())));
}

void ValueSummary::Add(const ValueSummary& other) noexcept {
  const auto before = static_cast<long double>(finite());
  const auto more = static_cast<long double>(other.finite());
  count += other.count;
  nan += other.nan;
  infinite += other.infinite;
  zeros += other.zeros;
  if (other.finite() == 0) return;
  const long double all = before + more;
  const long double difference = before == 0 ? 0 : static_cast<long double>(other.mean) - mean;
  mean = before == 0 ? other.mean : ToFinite(mean + difference * (more / all));
  squares += other.squares + difference * difference * (before * (more / all));
  if (!min || *other.min < *min) min = other.min;
  if (!max || *max < *other.max) max = other.max;
}

ValueSummary Summarize(const Encoding& encoding, std::span<const std::byte> bytes) {
  ValueSummary summary;
  VisitElements(encoding, bytes, [&](auto elements, const auto& convert) {
    summary = SummarizeSpan(elements, convert);
  });
  return summary;
}

}  // namespace graphd::ctl
