// SPDX-License-Identifier: Apache-2.0
#include "daemon/requests/wire_ids.h"

#include <cstring>

#include "base/strings.h"
#include "wire/connection.h"
#include "wire/graph_messages.h"

namespace graphd {

WireIds::WireIds(capnp::Data::Reader data, int64_t type_count, BufferPool& pool) {
  const size_t width = IdBytes(type_count);
  narrow_ = width == 4;
  count_ = data.size() / width;
  if (data.size() % width != 0) {
    Throw(ErrorCode::kInvalid, data.size(), " bytes of ids, expected a multiple of ", width);
  }
  if (count_ > kMaxIds) {
    Throw(ErrorCode::kOverloaded, count_, " ids in one request, at most ", kMaxIds,
          " are allowed; split the request");
  }
  buffer_ = pool.Get(data.size());
  if (data.size() > 0) std::memcpy(buffer_.data(), data.begin(), data.size());
}

void WireIds::Copy(size_t begin, size_t end, int64_t count, std::vector<int64_t>& out) const {
  out.resize(end - begin);
  for (size_t i = begin; i < end; i++) {
    const int64_t id = (*this)[i];
    if (id < 0 || id >= count) {
      Throw(ErrorCode::kInvalid, "id ", id, " is outside 0..", count - 1);
    }
    out[i - begin] = id;
  }
}

void WireIds::CopyRows(size_t begin, size_t end, const TypeIds& of, PartId part,
                       std::vector<int64_t>& rows) const {
  const IdMap& map = of.map();
  const int32_t type = of.type();
  rows.resize(end - begin);
  const auto refuse = [&](int64_t id) {
    Throw(ErrorCode::kInvalid, "id ", id, " does not belong to partition ", part);
  };
  if (map.is_range()) {
    const int64_t first = map.type_begin(part, type), count = map.count_in(part, type);
    for (size_t i = begin; i < end; i++) {
      const int64_t id = (*this)[i];
      if (id < first || id - first >= count) refuse(id);
      rows[i - begin] = id - first;
    }
  } else {
    for (size_t i = begin; i < end; i++) {
      if (map.Owner(type, (*this)[i]) != part) refuse((*this)[i]);
      rows[i - begin] = map.LocalRow(type, (*this)[i]);
    }
  }
}

void CheckType(int32_t type, int32_t types, const char* what) {
  if (type < 0 || type >= types) {
    Throw(ErrorCode::kInvalid, what, " type ", type, " is outside 0..", types - 1);
  }
}

void CheckResponse(size_t bytes) {
  if (bytes > kMaxResponseBytes) {
    Throw(ErrorCode::kOverloaded, "the answer would have ", HumanBytes(bytes), ", at most ",
          HumanBytes(kMaxResponseBytes), " are allowed; request less at once");
  }
}

const FeatureTable& FindFeature(const Partition& partition, bool is_edge, int32_t type,
                                const std::string& name) {
  const Schema& schema = partition.meta().schema;
  if (is_edge) {
    CheckType(type, schema.num_etypes(), "edge");
    return partition.edge_feature(type, name);
  }
  CheckType(type, schema.num_ntypes(), "node");
  return partition.node_feature(type, name);
}

uint8_t WidthFor(uint32_t largest) {
  if (largest <= UINT8_MAX) return 1;
  return largest <= UINT16_MAX ? 2 : 4;
}

void WriteNarrow(std::span<const uint32_t> from, uint8_t width, kj::byte* to) {
  // The machine is little-endian: the low bytes come first.
  for (size_t i = 0; i < from.size(); i++) std::memcpy(to + i * width, &from[i], width);
}

}  // namespace graphd
