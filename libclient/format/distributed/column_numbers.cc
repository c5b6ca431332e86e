// SPDX-License-Identifier: Apache-2.0
#include "format/distributed/column_numbers.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>
#include <utility>

#include "base/index.h"
#include "base/strings.h"
#include "graph/decode.h"

namespace graphd {
namespace {

bool IsList(const ArrowType& type) { return type.kind == ArrowKind::kList && !type.dictionary; }

// Refuses columns that have no numbers.
void CheckType(const ArrowType& type, const std::string& column) {
  const ArrowType& item = IsList(type) ? type.children[0] : type;
  const bool number = item.kind == ArrowKind::kNumber || item.kind == ArrowKind::kBool ||
                      item.kind == ArrowKind::kNull;
  if (number && !item.dictionary) return;
  Throw(ErrorCode::kInvalid, "column '", column.substr(0, 80), "' has ",
        IsList(type) ? "lists of " : "", item.words,
        ", expected numbers, bool or lists of these; cast it (text: a StringIndexer, a vector: "
        "vector_to_array), or drop it");
}

void CheckListSize(int64_t size, int64_t expected, const std::string& column) {
  if (size == expected && size >= 1 && size <= kMaxListSize) return;
  Throw(ErrorCode::kInvalid, "column '", column.substr(0, 80), "' has a list of ", size, " numbers",
        size == expected ? "" : " and one of ", size == expected ? "" : std::to_string(expected),
        "; lists must have the same length, 1 to ", kMaxListSize, ", to be a feature");
}

// Calls number(value) for each number of a column without lists in the rows begin .. end - 1, with
// its C++ type (bool for kBool), and missing() for each null.
template <class Number, class Missing>
void ForEachNumber(const ArrowColumn& items, int64_t begin, int64_t end, Number&& number,
                   Missing&& missing) {
  const auto each = [&](auto&& value) {
    for (int64_t row = begin; row < end; row++) {
      if (items.IsNull(row)) {
        missing();
      } else {
        number(value(row));
      }
    }
  };
  if (items.type->kind == ArrowKind::kBool) {
    each([&](int64_t row) { return items.Bit(1, row); });
  } else if (items.type->kind == ArrowKind::kNull) {
    for (int64_t row = begin; row < end; row++) missing();
  } else if (items.type->dtype == DType::kFloat16) {
    each([&](int64_t row) { return FromFloat16()(items.Load<uint16_t>(1, row)); });
  } else {
    VisitDType(items.type->dtype, [&](auto zero) {
      each([&](int64_t row) { return items.Load<decltype(zero)>(1, row); });
    });
  }
}

void SummarizeItems(const ArrowColumn& items, int64_t begin, int64_t end, ColumnSummary& summary) {
  const auto number = [&](auto value) {
    using T = decltype(value);
    if constexpr (std::is_same_v<T, bool>) {
      summary.numbers.AddWord();
      summary.least = std::min<int64_t>(summary.least, value);
      summary.most = std::max<int64_t>(summary.most, value);
    } else if constexpr (std::is_same_v<T, float>) {
      summary.numbers.AddFloat();
      summary.range.Add(value);
    } else if constexpr (std::is_same_v<T, double>) {
      if (std::isnan(value)) {
        summary.numbers.AddMissing();
      } else {
        summary.numbers.AddDouble(value);
      }
      summary.range.Add(static_cast<float>(value));
    } else {
      // If the feature becomes float32, Convert converts whole numbers to double and then to float,
      // so their range is computed in the same way.
      summary.range.Add(static_cast<float>(static_cast<double>(value)));
      if constexpr (std::is_same_v<T, uint64_t>) {
        // This number makes the column floating, so that `least` and `most` are not used.
        if (value > INT64_MAX) return summary.numbers.AddUnsigned(value);
      }
      const auto whole = static_cast<int64_t>(value);
      summary.numbers.AddInt(whole);
      summary.least = std::min(summary.least, whole);
      summary.most = std::max(summary.most, whole);
    }
  };
  ForEachNumber(items, begin, end, number, [&] {
    summary.numbers.AddMissing();
    summary.range.Add(std::numeric_limits<float>::quiet_NaN());
  });
}

// The whole numbers that a stored dtype holds.
class StoredRange {
 public:
  explicit StoredRange(DType stored) {
    VisitDType(stored, [&](auto zero) {
      using T = decltype(zero);
      if constexpr (std::is_integral_v<T> && !std::is_same_v<T, uint64_t>) {
        least_ = std::numeric_limits<T>::min();
        most_ = std::numeric_limits<T>::max();
      }
    });
  }
  template <class T>
  bool Holds(T value) const noexcept {
    return std::in_range<int64_t>(value) && static_cast<int64_t>(value) >= least_ &&
           static_cast<int64_t>(value) <= most_;
  }

 private:
  int64_t least_ = INT64_MIN, most_ = INT64_MAX;
};

// Appends the numbers of the rows begin .. end - 1 to `to`, which has room for them.
template <class To>
std::byte* Convert(const ArrowColumn& items, int64_t begin, int64_t end,
                   const PlannedFeature& feature, std::byte* to) {
  const auto put = [&](To value) {
    std::memcpy(to, &value, sizeof value);
    to += sizeof value;
  };
  const StoredRange range(feature.encoding.stored);
  const auto refuse = [&](const char* what) {
    Throw(ErrorCode::kInvalid, "feature '", feature.name, "' has ", what,
          ", which was not there when the columns were examined; the DataFrame has other rows each "
          "time that it is evaluated: write it to files, and read these");
  };
  ForEachNumber(
      items, begin, end,
      [&](auto value) {
        using T = decltype(value);
        if constexpr (std::is_floating_point_v<To>) {
          if constexpr (std::is_floating_point_v<T>) {
            // In files, every NaN has the same bits.
            if (std::isnan(value)) return put(std::numeric_limits<To>::quiet_NaN());
          }
          // Whole numbers become double first and so are rounded twice, as in NumberColumn.
          if constexpr (std::is_integral_v<T>)
            return put(static_cast<To>(static_cast<double>(value)));
          put(static_cast<To>(value));
        } else {
          if constexpr (std::is_floating_point_v<T>) {
            refuse("a number with a point");
          } else if constexpr (!std::is_same_v<T, bool>) {
            // Storing a number that does not fit would keep its lower bits only.
            if (!range.Holds(value)) refuse("a number of more bits than the others");
          }
          put(static_cast<To>(value));
        }
      },
      [&] {
        if constexpr (std::is_floating_point_v<To>) {
          put(std::numeric_limits<To>::quiet_NaN());
        } else {
          refuse("a null");
        }
      });
  return to;
}

template <class To>
void AppendAs(const ArrowColumn& column, int64_t begin, int64_t end, const PlannedFeature& feature,
              std::vector<std::byte>& to) {
  // The memory for the numbers is computed from the width in the plan, so the lengths of all lists
  // are compared with that before anything is allocated.
  for (int64_t row = begin; IsList(*column.type) && row < end; row++) {
    const auto [first, last] = column.Items(row);
    if (!column.IsNull(row)) CheckListSize(last - first, feature.width, feature.name);
  }
  const size_t before = to.size();
  const size_t width = Index(std::max<int64_t>(feature.width, 1));
  to.resize(before + Index(end - begin) * width * sizeof(To));
  std::byte* at = to.data() + before;
  if (!IsList(*column.type)) {
    Convert<To>(column, begin, end, feature, at);
    return;
  }
  const ArrowColumn& items = column.children[0];
  for (int64_t row = begin; row < end; row++) {
    const auto [first, last] = column.Items(row);
    if (!column.IsNull(row)) {
      at = Convert<To>(items, first, last, feature, at);
      continue;
    }
    if constexpr (std::is_floating_point_v<To>) {
      const To nan = std::numeric_limits<To>::quiet_NaN();
      for (size_t i = 0; i < width; i++, at += sizeof nan) std::memcpy(at, &nan, sizeof nan);
    } else {
      Throw(ErrorCode::kInvalid, "feature '", feature.name,
            "' has a null in place of a list, which was not there when the columns were examined; "
            "write the DataFrame to files, and read these");
    }
  }
}

}  // namespace

void ColumnSummary::Merge(const ColumnSummary& part, const std::string& column) {
  is_float32 = is_float32 || part.is_float32;
  is_list = is_list || part.is_list;
  numbers.Merge(part.numbers);
  least = std::min(least, part.least);
  most = std::max(most, part.most);
  range.Merge(part.range);
  if (list_size == 0) list_size = part.list_size;
  if (part.list_size != 0) CheckListSize(part.list_size, list_size, column);
}

PlannedFeature ColumnSummary::Plan(const std::string& name, const std::string& store_as) const {
  PlannedFeature feature{name, is_list ? std::max<int64_t>(list_size, 1) : 0, {}};
  const DType dtype = is_float32 ? DType::kFloat32 : numbers.dtype(name.ends_with("_mask"));
  if (!store_as.empty()) {
    feature.encoding = EncodingFor(dtype, range, DTypeFromName(store_as), "feature '" + name + "'");
  } else if (least <= most) {
    feature.encoding = NarrowestEncoding(dtype, least, most);
  } else {
    feature.encoding = Encoding::Plain(dtype);
  }
  return feature;
}

ColumnSummary SummaryOf(const ArrowType& type, const std::string& column_name) {
  CheckType(type, column_name);
  ColumnSummary summary;
  summary.is_list = IsList(type);
  const ArrowType& item = summary.is_list ? type.children[0] : type;
  summary.is_float32 = item.kind == ArrowKind::kNumber &&
                       (item.dtype == DType::kFloat32 || item.dtype == DType::kFloat16);
  return summary;
}

void Summarize(const ArrowColumn& column, const std::string& column_name, ColumnSummary& summary) {
  if (!summary.is_list) return SummarizeItems(column, 0, column.length, summary);
  for (int64_t row = 0; row < column.length; row++) {
    if (column.IsNull(row)) {
      summary.numbers.AddMissing();
      summary.range.Add(std::numeric_limits<float>::quiet_NaN());
      continue;
    }
    const auto [begin, end] = column.Items(row);
    if (summary.list_size == 0) summary.list_size = end - begin;
    CheckListSize(end - begin, summary.list_size, column_name);
    SummarizeItems(column.children[0], begin, end, summary);
  }
}

void AppendNumbers(const ArrowColumn& column, int64_t begin, int64_t end,
                   const PlannedFeature& feature, std::vector<std::byte>& to) {
  CheckType(*column.type, feature.name);
  if (IsList(*column.type) != (feature.width > 0)) {
    Throw(ErrorCode::kInternal, "feature '", feature.name, "' was planned with ", feature.width,
          " numbers in a list, and has ", column.type->words);
  }
  switch (feature.encoding.dtype) {
    case DType::kInt64:
      return AppendAs<int64_t>(column, begin, end, feature, to);
    case DType::kUInt8:
      return AppendAs<uint8_t>(column, begin, end, feature, to);
    case DType::kFloat32:
      return AppendAs<float>(column, begin, end, feature, to);
    case DType::kFloat64:
      return AppendAs<double>(column, begin, end, feature, to);
    default:
      Throw(ErrorCode::kInternal, "feature '", feature.name, "' was planned as ",
            DTypeName(feature.encoding.dtype));
  }
}

}  // namespace graphd
