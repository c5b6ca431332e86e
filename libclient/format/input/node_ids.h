// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <charconv>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/strings.h"
#include "format/io/name_table.h"

// The ids of one node type as an input writes them, and the number of its nodes. Ids are numbers
// that are used as they are, or names (any text, including numbers to be compacted) that are
// numbered in order of first appearance. Not thread-safe.

namespace graphd {

class NodeIds {
 public:
  static constexpr uint64_t kMaxNodes = uint64_t{1} << 40;

  explicit NodeIds(std::string ntype) : ntype_(std::move(ntype)) {}

  const std::string& ntype() const noexcept { return ntype_; }
  void UseNames() {
    if (!names_) names_ = std::make_shared<NameTable>();
  }
  bool named() const noexcept { return names_ != nullptr; }
  const std::shared_ptr<NameTable>& names() const noexcept { return names_; }

  // Fixes the number of nodes: they are 0..count-1 (or the names seen so far), and any other id is
  // an error afterwards. `source` names the origin of the count. Throws Error(kInvalid) if another
  // source gave a different count.
  void Close(int64_t count, const std::string& source);
  bool closed() const noexcept { return !source_.empty(); }
  // Sets a lower bound of the number of nodes.
  void AtLeast(uint64_t count) noexcept { count_ = std::max(count_, count); }
  int64_t count() const noexcept {
    return static_cast<int64_t>(named() ? std::max<uint64_t>(count_, names_->size()) : count_);
  }

  // Return the id of the node that a cell of text or a number identifies. They call
  // where.Fail(...), which throws an error with the place in the input, if there is no such node.
  template <class Where>
  uint64_t Resolve(std::string_view cell, const Where& where) {
    if (names_) return ResolveName(cell, where);
    uint64_t id = 0;
    const auto [end, error] = std::from_chars(cell.data(), cell.data() + cell.size(), id);
    if (error != std::errc() || end != cell.data() + cell.size()) {
      where.Fail("'", cell.substr(0, 40), "' is not the id of a node of type '", ntype_,
                 "', expected a whole number as in the first rows; --map_ids takes any text");
    }
    return Check(id, where);
  }
  template <class Where>
  uint64_t ResolveNumber(uint64_t id, const Where& where) {
    if (!names_) return Check(id, where);
    return ResolveName(std::to_string(id), where);
  }

 private:
  template <class Where>
  uint64_t Check(uint64_t id, const Where& where) const {
    if (id >= (closed() ? count_ : kMaxNodes)) where.Fail(OutOfRange(std::to_string(id)));
    return id;
  }
  template <class Where>
  uint64_t ResolveName(std::string_view name, const Where& where) {
    if (name.empty() || name.find_first_of("\r\n") != name.npos) {
      where.Fail(name.empty() ? "an empty id" : "an id with a line break", " of a node of type '",
                 ntype_, "'");
    }
    if (!closed()) return names_->Add(name);
    const auto id = names_->Find(name);
    if (!id) where.Fail(OutOfRange(name.substr(0, 80)));
    return *id;
  }
  std::string OutOfRange(std::string_view id) const;

  std::string ntype_;
  std::shared_ptr<NameTable> names_;
  std::string source_;
  uint64_t count_ = 0;
};

}  // namespace graphd
