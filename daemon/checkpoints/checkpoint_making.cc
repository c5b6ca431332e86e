// SPDX-License-Identifier: Apache-2.0
#include "daemon/checkpoints/checkpoint_making.h"

#include <utility>

#include "base/log.h"
#include "base/strings.h"
#include "daemon/checkpoints/original_ids.h"

namespace graphd {
namespace {

// The memory that a name takes beside its characters, in a map or a set.
constexpr size_t kBytesPerName = 128;

size_t BytesOf(const TensorShare& share) {
  const TensorSpec& spec = share.info.spec;
  return sizeof share + spec.name.size() + spec.row_shape.size() * sizeof spec.row_shape[0] +
         share.info.job_id.size() + share.info.holder.size();
}

std::vector<TensorShare> ChooseShares(const store::TensorHost& host, const ServedGraph& graph,
                                      std::set<std::string> names) {
  const bool all = names.empty();
  std::vector<TensorShare> chosen;
  for (TensorShare& share : host.ListAll(graph.partitions()[0]->shared_meta())) {
    const TensorSpec& spec = share.info.spec;
    if (!spec.persistent || !(all || names.contains(spec.name))) continue;
    if (share.of_other_version && all) {
      LogInfo({.op = "checkpoint"}, "a checkpoint leaves out a tensor: ", share.trouble);
      continue;
    }
    if (share.of_other_version) Throw(ErrorCode::kInvalid, share.trouble);
    if (!share.trouble.empty()) {
      Throw(ErrorCode::kCorrupt, "tensor '", spec.name, "' can't be saved: ", share.trouble);
    }
    chosen.push_back(std::move(share));
  }
  for (const TensorShare& share : chosen) names.erase(share.info.spec.name);
  if (!names.empty()) {
    Throw(ErrorCode::kNotFound, "there is no persistent tensor '", *names.begin(), "'");
  }
  return chosen;
}

}  // namespace

void CheckpointMaking::Prepare(store::CheckpointCatalog& catalog, const std::string& name,
                               const std::string& id, std::set<std::string> names) {
  const MutexLock lock(mutex_);
  shares_ = ChooseShares(tensors_, *graph_, std::move(names));
  size_t bytes = sizeof *this + kBytesPerName + name.size() + id.size();
  for (const TensorShare& share : shares_) bytes += BytesOf(share);
  charge_.Add(bytes);
  making_ = catalog.own().Begin(name, id);
  tensors_.store().PrepareCheckpoint();
}

void CheckpointMaking::Hold(store::HoldOptions options) {
  const MutexLock lock(mutex_);
  if (hold_ || taken_) Throw(ErrorCode::kInvalid, "pushes were held for this checkpoint before");
  hold_ = tensors_.store().HoldPushes(std::move(options));
}

uint64_t CheckpointMaking::Take() {
  const MutexLock lock(mutex_);
  if (!hold_) Throw(ErrorCode::kInvalid, "pushes are not held for this checkpoint");
  std::vector<std::string> tables;
  for (const TensorShare& share : shares_) {
    tables.push_back(store::TableName(share.part, "", share.info.spec.name));
  }
  const std::string data = making_->data_directory();
  const auto specs = tensors_.store().WriteCheckpoint(data, tables, *hold_);
  hold_.reset();
  for (size_t i = 0; i < specs.size(); i++) shares_[i].info.state = specs[i].state;
  WriteOriginalIds(*graph_, data, shares_);
  taken_ = true;
  return making_->Bytes();
}

void CheckpointMaking::AddFile(const std::string& file, uint64_t offset,
                               std::span<const std::byte> data) {
  const MutexLock lock(mutex_);
  // A client sends each file in pieces, the first at offset 0. The file's name is kept until the
  // end.
  if (offset == 0) charge_.Add(kBytesPerName + file.size());
  making_->AddFile(file, offset, data);
}

void CheckpointMaking::Commit(const std::string& manifest) {
  const MutexLock lock(mutex_);
  if (!taken_) Throw(ErrorCode::kInvalid, "the checkpoint has no tensors to commit yet");
  making_->Commit(manifest);
}

void CheckpointMaking::Abandon() {
  const MutexLock lock(mutex_);
  hold_.reset();
  making_.reset();
}

}  // namespace graphd
