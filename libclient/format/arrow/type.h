// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "graphd/tensor.h"

// Types of Arrow's columns, as far as graphs need them.

namespace graphd {

enum class ArrowKind {
  kNull,    // every value is null
  kBool,    // one bit each
  kNumber,  // numbers of `dtype`
  kText,
  kList,
  kTime,     // dates, times, timestamps and durations
  kDecimal,  // decimal numbers of 128 or 256 bits
  kOther,
};

// The ways to store the lengths of texts and lists.
enum class ArrowLayout { kOffsets32, kOffsets64, kViews, kFixed };

struct ArrowType {
  ArrowKind kind = ArrowKind::kOther;
  DType dtype = DType::kInt64;                   // kNumber, and the indices of a dictionary
  ArrowLayout layout = ArrowLayout::kOffsets32;  // kText and kList
  int64_t list_size = 0;                         // kList of kFixed: items per row
  int buffers = 0;                               // buffers of a column, without variadic ones
  std::string words;                             // the type's name, for messages
  std::vector<ArrowType> children;               // kList has one, the items; kOther may have some
  std::shared_ptr<const ArrowType> dictionary;   // the values that indices stand for, or null
  int64_t dictionary_id = 0;                     // identifies the dictionary in an IPC stream
};

struct ArrowField {
  std::string name;
  ArrowType type;
};

// Return the types without children, which the caller adds.
ArrowType ArrowNumber(DType dtype);
ArrowType ArrowText(ArrowLayout layout);
ArrowType ArrowList(ArrowLayout layout, int64_t list_size);
ArrowType ArrowOther(ArrowKind kind, std::string words, int buffers);

// Returns the type for a format string of the C data interface, without its children and its
// dictionary; kOther for the types that graphs don't need. Throws Error(kCorrupt) for a list size
// that is not a number.
ArrowType ArrowTypeOfFormat(std::string_view format);

// The maximum depth of nested types that readers accept.
constexpr int kMaxArrowDepth = 16;

}  // namespace graphd
