// SPDX-License-Identifier: Apache-2.0
#include "format/input/node_ids.h"

namespace graphd {

void NodeIds::Close(int64_t count, const std::string& source) {
  const auto wanted = static_cast<uint64_t>(count);
  if (closed() && wanted != count_) {
    Throw(ErrorCode::kInvalid, source, " gives node type '", ntype_, "' ", count, " nodes, but ",
          source_, " gives it ", count_);
  }
  if (wanted < count_) {
    Throw(ErrorCode::kInvalid, source, " gives node type '", ntype_, "' ", count,
          " nodes, but the input has ", count_, " or more");
  }
  count_ = wanted;
  source_ = source;
}

std::string NodeIds::OutOfRange(std::string_view id) const {
  if (!closed()) {
    return StrCat("node ", id, " is outside 0..", kMaxNodes - 1,
                  "; --map_ids renumbers the nodes, whatever their ids");
  }
  if (named()) return StrCat("node '", id, "' of type '", ntype_, "' is not in ", source_);
  if (count_ == 0)
    return StrCat("node ", id, ", but ", source_, " has no node of type '", ntype_, "'");
  return StrCat("node ", id, " of type '", ntype_, "' is outside 0..", count_ - 1, ", as ", source_,
                " has it");
}

}  // namespace graphd
