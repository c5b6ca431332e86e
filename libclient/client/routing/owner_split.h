// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "graph/type_ids.h"

namespace graphd {

// Ids of one type, sorted by the partition that owns them. Memory is reused from call to call.
struct OwnerSplit {
  struct Part {
    std::vector<int64_t> ids;
    std::vector<int64_t> positions;  // position of each id in the call's ids, ascending
  };
  std::vector<Part> parts;
  std::vector<PartId> owners;  // owner of each id of the call

  // Splits ids of a type. Throws Error(kInvalid) with the id that is out of range and its position;
  // `what` names the list in the message ("seed", "edge").
  void Assign(const TypeIds& of, std::span<const int64_t> ids, const char* what);
};

// Returns the local rows of ids of a type that `part` owns.
void LocalRows(const TypeIds& of, PartId part, std::span<const int64_t> ids,
               std::vector<int64_t>& rows);

}  // namespace graphd
