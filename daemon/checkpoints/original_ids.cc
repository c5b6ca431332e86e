// SPDX-License-Identifier: Apache-2.0
#include "daemon/checkpoints/original_ids.h"

#include <fcntl.h>
#include <xxhash.h>

#include <algorithm>
#include <memory>
#include <new>

#include "base/directory.h"
#include "base/file.h"
#include "base/strings.h"
#include "base/threads/watched_thread.h"
#include "daemon/requests/wire_ids.h"

namespace graphd {
namespace {

constexpr const char* kOriginalIds = "orig_id";
constexpr size_t kChecksumBytes = sizeof(uint64_t);
constexpr int64_t kPiece = int64_t{1} << 17;  // ids that are in memory at once

// Writes all ids and their checksum to a file. The file gets its name when it is complete.
void WriteIds(const FeatureTable& ids, const std::string& path) {
  const std::string temporary = path + ".tmp";
  const UniqueFd file = OpenFile(temporary, O_WRONLY | O_CREAT | O_TRUNC);
  const std::unique_ptr<XXH3_state_t, decltype(&XXH3_freeState)> state(XXH3_createState(),
                                                                       &XXH3_freeState);
  if (state == nullptr) throw std::bad_alloc();
  XXH3_64bits_reset(state.get());
  std::vector<std::byte> piece;
  for (int64_t begin = 0; begin < ids.num_rows(); begin += kPiece) {
    const int64_t count = std::min(kPiece, ids.num_rows() - begin);
    piece.resize(static_cast<size_t>(count) * sizeof(int64_t));
    ids.Read(begin, count, piece.data());
    XXH3_64bits_update(state.get(), piece.data(), piece.size());
    WriteExactly(file.get(), piece, temporary);
    WatchedThread::CountProgress();
  }
  const uint64_t checksum = XXH3_64bits_digest(state.get());
  WriteExactly(file.get(), std::as_bytes(std::span(&checksum, 1)), temporary);
  Sync(file.get(), temporary);
  RenameFile(temporary, path);
}

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
    WriteIds(ids, path);
  }
  SyncDirectory(data);
}

int64_t CountOriginalIds(const std::string& path) {
  const uint64_t size = FileSize(path);
  if (size % sizeof(int64_t) != 0 || size < kChecksumBytes) {
    Throw(ErrorCode::kCorrupt, path, " has a wrong size, ", size, " bytes");
  }
  return static_cast<int64_t>((size - kChecksumBytes) / sizeof(int64_t));
}

void ReadOriginalIds(const std::string& path, int64_t begin, std::span<std::byte> out) {
  const UniqueFd file = OpenFile(path, O_RDONLY);
  ReadExactly(file.get(), static_cast<uint64_t>(begin) * sizeof(int64_t), out, path);
}

}  // namespace graphd
