// SPDX-License-Identifier: Apache-2.0
#include "graphd/ids.h"

#include <gtest/gtest.h>

#include <concepts>
#include <type_traits>
#include <unordered_set>

#include "graph/type_ids.h"
#include "graphd/partition_book.h"
#include "graphd/schema.h"

namespace graphd {
namespace {

// These hold at compile time: whoever makes the ids convertible again breaks the build.

template <class To, class From>
constexpr bool kTakes = std::is_convertible_v<From, To> || std::is_constructible_v<To, From> ||
                        std::is_assignable_v<To&, From>;

static_assert(!kTakes<NodeTypeId, EdgeTypeId> && !kTakes<NodeTypeId, PartId>);
static_assert(!kTakes<EdgeTypeId, NodeTypeId> && !kTakes<EdgeTypeId, PartId>);
static_assert(!kTakes<PartId, NodeTypeId> && !kTakes<PartId, EdgeTypeId>);

// An id converts to a number, and a number to any id.
static_assert(std::is_convertible_v<NodeTypeId, int32_t>);
static_assert(std::is_convertible_v<int32_t, NodeTypeId>);
static_assert(std::is_constructible_v<EdgeTypeId, size_t>);
static_assert(sizeof(PartId) == sizeof(int32_t) && alignof(PartId) == alignof(int32_t));

static_assert(std::equality_comparable<NodeTypeId>);
static_assert(!std::equality_comparable_with<NodeTypeId, EdgeTypeId>);
template <class A, class B>
concept Comparable = requires(A a, B b) {
  a == b;
};
template <class A, class B>
concept Ordered = requires(A a, B b) {
  a < b;
};
static_assert(Comparable<PartId, PartId> && Comparable<PartId, int>);
static_assert(!Comparable<NodeTypeId, EdgeTypeId> && !Comparable<PartId, NodeTypeId>);
static_assert(Ordered<EdgeTypeId, EdgeTypeId> && Ordered<EdgeTypeId, int>);
static_assert(!Ordered<EdgeTypeId, NodeTypeId> && !Ordered<PartId, EdgeTypeId>);

// A map, its type's id and a partition, in the functions that take all of them.
template <class Map, class Type>
concept Counts = requires(const Map& map, PartId part, Type type) {
  map.count(type);
  map.count_in(part, type);
  map.Owner(type, int64_t{0});
  map.ToHomo(type, int64_t{0});
  map.LocalRow(type, int64_t{0});
  map.FromLocalRow(part, type, int64_t{0});
  map.IdsOf(part, type);
  map.type_begin(part, type);
};
static_assert(Counts<NodeMap, NodeTypeId> && Counts<EdgeMap, EdgeTypeId>);
template <class Map, class Type>
concept CountsAny = requires(const Map& map, Type type) {
  map.count(type);
}
|| requires(const Map& map, Type type) { map.count_in(PartId(0), type); }
|| requires(const Map& map, Type type) { map.Owner(type, int64_t{0}); }
|| requires(const Map& map, Type type) { map.ToHomo(type, int64_t{0}); }
|| requires(const Map& map, Type type) { map.LocalRow(type, int64_t{0}); }
|| requires(const Map& map, Type type) { map.FromLocalRow(PartId(0), type, int64_t{0}); }
|| requires(const Map& map, Type type) { map.IdsOf(PartId(0), type); }
|| requires(const Map& map, Type type) { map.type_begin(PartId(0), type); };
static_assert(!CountsAny<NodeMap, EdgeTypeId> && !CountsAny<EdgeMap, NodeTypeId>);
static_assert(!CountsAny<NodeMap, PartId> && !CountsAny<EdgeMap, PartId>);
// A number and a partition do not change places.
static_assert(!std::is_invocable_v<decltype(&NodeMap::type_begin), NodeMap, NodeTypeId, PartId>);

static_assert(std::is_constructible_v<TypeIds, const NodeMap&, NodeTypeId>);
static_assert(std::is_constructible_v<TypeIds, const EdgeMap&, EdgeTypeId>);
static_assert(!std::is_constructible_v<TypeIds, const NodeMap&, EdgeTypeId>);
static_assert(!std::is_constructible_v<TypeIds, const EdgeMap&, NodeTypeId>);
static_assert(!std::is_constructible_v<TypeIds, const NodeMap&, PartId>);

template <class Type>
concept HasEnds = requires(const Schema& schema, Type type) {
  schema.src_type(type);
}
|| requires(const Schema& schema, Type type) { schema.dst_type(type); };
static_assert(HasEnds<EdgeTypeId> && !HasEnds<NodeTypeId>);
static_assert(std::is_same_v<decltype(std::declval<Schema>().src_type(0)), NodeTypeId>);

TEST(Ids, CountAndAreKeysLikeNumbers) {
  NodeTypeId type;
  EXPECT_EQ(type, 0);
  EXPECT_EQ(type++, 0);
  EXPECT_EQ(++type, NodeTypeId(size_t{2}));
  const std::unordered_set<PartId> parts{0, 1, 1};
  EXPECT_EQ(parts.size(), 2U);
}

TEST(Ids, OfATypeGiveItsMap) {
  const PartitionBook book(IdMap::FromRanges("node", {{{0, 3}}, {{3, 5}}}),
                           IdMap::FromRanges("edge", {{{0, 7}}}));
  EXPECT_EQ(TypeIds(book.nodes(), NodeTypeId(1)).count(), 2);
  EXPECT_EQ(TypeIds(book.edges(), EdgeTypeId(0)).count(), 7);
  EXPECT_EQ(&TypeIds(book, true, 0).map(), &book.edges());
  EXPECT_EQ(TypeIds(book, false, 1).count(), 2);
}

}  // namespace
}  // namespace graphd
