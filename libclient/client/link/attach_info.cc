// SPDX-License-Identifier: Apache-2.0
#include "client/link/attach_info.h"

#include <algorithm>

#include "base/strings.h"
#include "graph/array_shape.h"
#include "wire/bounded.h"

namespace graphd {
namespace {

// The most bytes that a message can carry in one field, and so the largest row of a feature.
constexpr uint64_t kMostRowBytes = uint64_t{1} << 29;

bool SameMap(const IdMap& a, const IdMap& b) {
  return a.ranges() == b.ranges() &&
         std::equal(a.owners().begin(), a.owners().end(), b.owners().begin(), b.owners().end());
}

}  // namespace

size_t RowBytesOf(const FeatureInfo& info) {
  size_t bytes = DTypeSize(info.dtype);
  for (const int64_t extent : info.row_shape) bytes *= static_cast<size_t>(extent);
  return bytes;
}

PartitionFeatures ReadFeatures(wire::PartitionInfo::Reader in, const Schema& schema) {
  PartitionFeatures features;
  features.part = in.getPart();
  features.data_id = in.getDataId();
  features.nodes.resize(static_cast<size_t>(schema.num_ntypes()));
  features.edges.resize(static_cast<size_t>(schema.num_etypes()));
  for (auto feature : BoundedList(in.getFeatures(), "features")) {
    auto& of_kind = feature.getIsEdge() ? features.edges : features.nodes;
    const auto type = static_cast<size_t>(feature.getType());
    if (type >= of_kind.size() || feature.getDtype() >= kDTypes) {
      Throw(ErrorCode::kCorrupt, "feature '", feature.getName().cStr(), "' of type ", type,
            " and dtype ", int{feature.getDtype()}, " is none that the graph can have");
    }
    const auto dtype = static_cast<DType>(feature.getDtype());
    std::vector<int64_t> shape;
    for (const int64_t extent : feature.getRowShape()) shape.push_back(extent);
    if (!ArrayBytes(dtype, shape, kMostRowBytes)) {
      Throw(ErrorCode::kCorrupt, "feature '", feature.getName().cStr(), "': a row of shape ",
            ShapeText(shape), " can't be sent");
    }
    of_kind[type].push_back({feature.getName().cStr(), dtype, std::move(shape)});
  }
  return features;
}

void ReadEncodings(wire::PartitionInfo::Reader in, RowEncodings& encodings) {
  for (auto feature : in.getFeatures()) {
    if (!feature.hasEncoding()) continue;
    const auto sent = feature.getEncoding();
    const char* const name = feature.getName().cStr();
    if (sent.getStored() >= kDTypes) {
      Throw(ErrorCode::kCorrupt, "feature '", name, "' is stored in dtype ", int{sent.getStored()},
            ", which does not exist");
    }
    const Encoding encoding{static_cast<DType>(sent.getStored()),
                            static_cast<DType>(feature.getDtype()), sent.getScale()};
    try {
      CheckEncoding(encoding);
    } catch (const Error& error) {
      Throw(ErrorCode::kCorrupt, "feature '", name, "': ", error.what());
    }
    encodings.Add(in.getPart(), {feature.getIsEdge(), feature.getType(), name}, encoding);
  }
}

void CheckSameGraph(const GraphMeta& a, const GraphMeta& b, const std::string& peer_a,
                    const std::string& peer_b) {
  if (&a == &b) return;
  if (a.graph_name == b.graph_name && a.schema == b.schema &&
      a.book.num_partitions() == b.book.num_partitions() &&
      SameMap(a.book.nodes(), b.book.nodes()) && SameMap(a.book.edges(), b.book.edges())) {
    return;
  }
  Throw(ErrorCode::kInvalid, "the graphd at ", peer_a, " serves '", a.graph_name, "' (",
        a.book.nodes().total(), " nodes), the one at ", peer_b, " '", b.graph_name, "' (",
        b.book.nodes().total(), " nodes), or the same cut differently; start both with the same ",
        "part config");
}

}  // namespace graphd
