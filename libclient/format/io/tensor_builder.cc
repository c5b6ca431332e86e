// SPDX-License-Identifier: Apache-2.0
#include "format/io/tensor_builder.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <utility>

#include "base/strings.h"

namespace graphd {
namespace {

constexpr size_t kSpillBytes = size_t{256} << 10;  // a multiple of the size of every dtype

}  // namespace

TensorBuilder::TensorBuilder(TensorBuilder&& o) noexcept
    : dtype_(o.dtype_),
      spill_(o.spill_),
      file_(std::move(o.file_)),
      spilled_(std::exchange(o.spilled_, 0)),
      data_(std::exchange(o.data_, nullptr)),
      bytes_(std::exchange(o.bytes_, 0)),
      capacity_(std::exchange(o.capacity_, 0)) {}

TensorBuilder& TensorBuilder::operator=(TensorBuilder&& o) noexcept {
  std::swap(dtype_, o.dtype_);
  std::swap(spill_, o.spill_);
  std::swap(file_, o.file_);
  std::swap(spilled_, o.spilled_);
  std::swap(data_, o.data_);
  std::swap(bytes_, o.bytes_);
  std::swap(capacity_, o.capacity_);
  return *this;
}

TensorBuilder::~TensorBuilder() {
  std::free(data_);
  if (file_) ::unlink(file_->path().c_str());
}

void TensorBuilder::Append(std::span<const std::byte> bytes) {
  if (bytes.empty()) return;
  if (bytes_ + bytes.size() > capacity_) Grow(bytes.size());
  std::memcpy(data_ + bytes_, bytes.data(), bytes.size());
  bytes_ += bytes.size();
}

void TensorBuilder::Grow(size_t more) {
  if (spill_ && bytes_ >= kSpillBytes) {
    if (!file_) file_ = std::make_unique<SpillFile>(spill_->NewPath());
    file_->Append({data_, bytes_});
    spilled_ += bytes_;
    bytes_ = 0;
    if (more <= capacity_) return;
  }
  const size_t capacity = std::max({bytes_ + more, capacity_ * 2, size_t{4096}});
  void* grown = std::realloc(data_, capacity);
  if (!grown) Throw(ErrorCode::kOverloaded, "no memory for a column of ", HumanBytes(capacity));
  data_ = static_cast<std::byte*>(grown);
  capacity_ = capacity;
}

void TensorBuilder::ReadSpilled(uint64_t offset, std::vector<std::byte>& piece) const {
  file_->Flush();
  piece.resize(std::min<uint64_t>(spilled_ - offset, kSpillBytes));
  ReadExactly(file_->fd(), offset, piece, file_->path());
}

Tensor TensorBuilder::Finish(std::vector<int64_t> shape) && {
  if (file_) {
    file_->Append({data_, bytes_});
    file_->Flush();
    Tensor tensor = spill_->Map({file_->path(), 0}, dtype_, std::move(shape));
    if (tensor.num_bytes() != file_->size()) {
      Throw(ErrorCode::kInvalid, "a column of ", file_->size(), " bytes can't have a shape of ",
            tensor.num_bytes(), " bytes");
    }
    file_.reset();
    std::free(std::exchange(data_, nullptr));
    spilled_ = bytes_ = capacity_ = 0;
    return tensor;
  }
  // Keep at least one byte: realloc to 0 would free the block.
  void* trimmed = std::realloc(data_, std::max(bytes_, size_t{1}));
  if (!trimmed) Throw(ErrorCode::kOverloaded, "no memory for a column of ", HumanBytes(bytes_));
  data_ = nullptr;
  std::shared_ptr<void> owner(trimmed, std::free);
  Tensor tensor(dtype_, std::move(shape), static_cast<std::byte*>(trimmed), std::move(owner));
  if (tensor.num_bytes() != bytes_) {
    Throw(ErrorCode::kInvalid, "a column of ", bytes_, " bytes can't have a shape of ",
          tensor.num_bytes());
  }
  bytes_ = capacity_ = 0;
  return tensor;
}

}  // namespace graphd
