// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <compare>
#include <concepts>
#include <cstdint>
#include <functional>
#include <type_traits>

#include "graphd/export.h"

// Ids of types and partitions. Each kind of id is a type of its own, so that an edge type's id, for
// example, can't be passed where a node type's id is expected: that does not compile. A number
// converts to an id of any kind, and an id of any kind to a number.
//
// Ids of nodes and edges, homogeneous ids and local rows are int64_t, in arrays (std::span, Tensor)
// and as single values. They have no types of their own. The arrays are shared with DGL, PyTorch
// and NumPy without a copy, and nothing in an array says which kind of id it has. A single value
// comes from such an array or is computed from a value of it (a local row is an id minus the first
// id of its partition), so a type of its own would have to be converted at each access, and would
// check nothing. Instead, the names of functions and parameters say which kind of id they mean
// (ToHomo, LocalRow; graphd/partition_book.h).

namespace GRAPHD_EXPORT graphd {

// An id of one kind; 0 by default. Has the size and the alignment of an int32_t.
template <class Kind>
class TypedId {
 public:
  constexpr TypedId() noexcept = default;
  constexpr TypedId(int32_t value) noexcept : value_(value) {}
  // Converts another number, which must fit into an int32_t.
  template <std::integral Number>
  explicit constexpr TypedId(Number value) noexcept : value_(static_cast<int32_t>(value)) {}
  // An id of another kind does not convert.
  template <class Other>
  requires(!std::is_same_v<Other, Kind>) TypedId(TypedId<Other>)
  = delete;

  // Returns the number.
  constexpr operator int32_t() const noexcept { return value_; }
  constexpr TypedId& operator++() noexcept {
    ++value_;
    return *this;
  }
  constexpr TypedId operator++(int) noexcept { return value_++; }

 private:
  int32_t value_ = 0;
};

// Ids of different kinds do not compare.
template <class A, class B>
requires(!std::is_same_v<A, B>) bool operator==(TypedId<A>, TypedId<B>) = delete;
template <class A, class B>
requires(!std::is_same_v<A, B>) std::strong_ordering operator<=>(TypedId<A>, TypedId<B>) = delete;

// The id of a node type, 0 .. num_ntypes()-1.
using NodeTypeId = TypedId<struct NodeTypeKind>;
// The id of an edge type, 0 .. num_etypes()-1.
using EdgeTypeId = TypedId<struct EdgeTypeKind>;
// The number of a partition, 0 .. num_partitions()-1.
using PartId = TypedId<struct PartitionKind>;

}  // namespace graphd

template <class Kind>
struct std::hash<graphd::TypedId<Kind>> {
  size_t operator()(graphd::TypedId<Kind> id) const noexcept { return std::hash<int32_t>{}(id); }
};
