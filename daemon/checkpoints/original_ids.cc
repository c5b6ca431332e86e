// SPDX-License-Identifier: Apache-2.0
#include "daemon/checkpoints/original_ids.h"

#include <fcntl.h>
#include <xxhash.h>

#include <algorithm>
#include <cstring>

#include "base/file.h"
#include "base/strings.h"
#include "daemon/requests/wire_ids.h"

namespace graphd {
namespace {

constexpr const char* kOriginalIds = "orig_id";

}  // namespace

std::string OriginalIdsPath(const std::string& data, PartId part, bool is_edge, int32_t type) {
  return StrCat(data, "/orig_id-", is_edge ? "edge" : "node", "-", type, "-part-", part);
}

void WriteOriginalIds(const ServedGraph& graph, const std::string& data,
                      const std::vector<TensorShare>& shares) {
  for (const TensorShare& share : shares) {
    const TensorSpec& spec = share.info.spec;
    if (spec.policy == TensorPolicy::kRange) continue;
    const bool is_edge = spec.policy == TensorPolicy::kEdge;
    const std::string path = OriginalIdsPath(data, share.part, is_edge, spec.type);
    const auto partition = graph.Find(share.part);
    const auto& features =
        is_edge ? partition->edge_features(spec.type) : partition->node_features(spec.type);
    const bool there = std::any_of(features.begin(), features.end(), [](const FeatureInfo& info) {
      return info.name == kOriginalIds && info.dtype == DType::kInt64 && info.row_shape.empty();
    });
    if (!there || FileExists(path)) continue;
    const FeatureTable& ids = FindFeature(*partition, is_edge, spec.type, kOriginalIds);
    std::string text(static_cast<size_t>(ids.num_rows()) * sizeof(int64_t), '\0');
    ids.Read(0, ids.num_rows(), reinterpret_cast<std::byte*>(text.data()));
    const uint64_t checksum = XXH3_64bits(text.data(), text.size());
    text.append(reinterpret_cast<const char*>(&checksum), sizeof checksum);
    WriteFileAtomically(path, text);
  }
  SyncDirectory(data);
}

std::vector<std::byte> ReadOriginalIds(const std::string& path) {
  const uint64_t size = FileSize(path);
  std::vector<std::byte> bytes(size);
  ReadExactly(OpenFile(path, O_RDONLY).get(), 0, bytes, path);
  uint64_t checksum = 0;
  if (size % sizeof(int64_t) != 0 || size < sizeof checksum) {
    Throw(ErrorCode::kCorrupt, path, " has a wrong size, ", size, " bytes");
  }
  std::memcpy(&checksum, bytes.data() + size - sizeof checksum, sizeof checksum);
  bytes.resize(size - sizeof checksum);
  if (checksum != XXH3_64bits(bytes.data(), bytes.size())) {
    Throw(ErrorCode::kCorrupt, path, ": its checksum is wrong");
  }
  return bytes;
}

}  // namespace graphd
