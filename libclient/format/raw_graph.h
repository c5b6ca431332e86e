// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <cstdint>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "graph/partition.h"
#include "graphd/schema.h"
#include "graphd/tensor.h"

// A whole graph in memory, as its owner numbered it: what the readers of raw inputs make and the
// partitioner takes. Edges cost 8 bytes (two 32-bit ids) while every node type has < 2^32 nodes.
// A value without threads of its own.

namespace graphd {

struct RawFeature {
  std::string name;
  Tensor values;  // [nodes or stored edges, ...]
};

struct RawNodes {
  int64_t count = 0;
  std::vector<RawFeature> features;
};

struct RawEdges {
  Tensor src, dst;  // both uint32 or both uint64, [stored edges]: type-wise ids, checked
  // Each stored edge stands for itself (edge id i) and for its reverse (id stored() + i), which
  // shares its features. Self loops and multi-edges are reversed like any other edge. Requires
  // one type at both ends.
  bool add_reverse = false;
  std::vector<RawFeature> features;

  int64_t stored() const { return src.num_rows(); }
  int64_t count() const { return add_reverse ? 2 * stored() : stored(); }

  // f(edge id, source, destination) for each stored edge by ascending id.
  template <class F>
  void ForEachStored(F&& f) const {
    Visit([&](auto from, auto to) {
      for (size_t i = 0; i < from.size(); i++) f(i, uint64_t{from[i]}, uint64_t{to[i]});
    });
  }
  // The same for each edge, reverses included.
  template <class F>
  void ForEach(F&& f) const {
    ForEachIn(0, static_cast<size_t>(count()), f);
  }
  // The same for the edges begin <= id < end.
  template <class F>
  void ForEachIn(size_t begin, size_t end, F&& f) const {
    Visit([&](auto from, auto to) {
      const size_t stored = from.size();
      for (size_t i = begin; i < std::min(end, stored); i++) {
        f(i, uint64_t{from[i]}, uint64_t{to[i]});
      }
      for (size_t i = std::max(begin, stored); i < end; i++) {
        f(i, uint64_t{to[i - stored]}, uint64_t{from[i - stored]});
      }
    });
  }

 private:
  template <class F>
  void Visit(F&& f) const {
    IdSpan(src).Visit([&](auto from) {
      f(from, dst.as<std::remove_const_t<typename decltype(from)::value_type>>());
    });
  }
};

struct RawGraph {
  Schema schema;
  std::vector<RawNodes> nodes;  // by NodeTypeId
  std::vector<RawEdges> edges;  // by EdgeTypeId
};

// A tensor that grows while its rows are read. Doubles its memory by realloc, which moves large
// blocks without copying them.
class TensorBuilder {
 public:
  explicit TensorBuilder(DType dtype) : dtype_(dtype) {}
  TensorBuilder(TensorBuilder&& o) noexcept;
  TensorBuilder& operator=(TensorBuilder&&) = delete;
  ~TensorBuilder();

  DType dtype() const noexcept { return dtype_; }
  size_t num_elements() const noexcept { return bytes_ / DTypeSize(dtype_); }
  // Requires: T is the dtype.
  template <class T>
  void Append(T value) {
    if (bytes_ + sizeof(T) > capacity_) Grow(sizeof(T));
    *reinterpret_cast<T*>(data_ + bytes_) = value;
    bytes_ += sizeof(T);
  }
  void Append(std::span<const std::byte> bytes);
  // The elements so far; valid until the next Append.
  template <class T>
  std::span<const T> as() const {
    return {reinterpret_cast<const T*>(data_), bytes_ / sizeof(T)};
  }
  // Gives the memory up, trimmed to size. Throws Error(kInvalid) unless `shape` has as many
  // elements as there are.
  Tensor Finish(std::vector<int64_t> shape) &&;

 private:
  void Grow(size_t more);
  DType dtype_;
  std::byte* data_ = nullptr;
  size_t bytes_ = 0, capacity_ = 0;
};

}  // namespace graphd
