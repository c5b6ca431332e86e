// SPDX-License-Identifier: Apache-2.0
#include "format/dgl/output.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cstdio>
#include <iterator>
#include <utility>

#include "base/check.h"
#include "format/dgl/magic.h"

namespace graphd {
namespace {

static_assert(std::endian::native == std::endian::little, "DGL's files are little-endian");

constexpr size_t kBufferBytes = size_t{1} << 20;

const dgl::DTypeCode& CodeOf(DType dtype) {
  const DType stored = dtype == DType::kBool ? DType::kUInt8 : dtype;
  const auto* code = std::find_if(std::begin(dgl::kDTypes), std::end(dgl::kDTypes),
                                  [&](const dgl::DTypeCode& c) { return c.dtype == stored; });
  GRAPHD_CHECK(code != std::end(dgl::kDTypes), "DGL has a code for every dtype but bool");
  return *code;
}

}  // namespace

DglOutput::DglOutput(std::string path, std::function<void(uint64_t)> written)
    : path_(std::move(path)), written_(std::move(written)), buffer_(kBufferBytes) {
  fd_ = OpenFile(TemporaryPath(), O_WRONLY | O_CREAT | O_TRUNC);
}

DglOutput::~DglOutput() {
  if (fd_) ::unlink(TemporaryPath().c_str());
}

void DglOutput::Flush() {
  WriteExactly(fd_.get(), std::span(buffer_).first(filled_), TemporaryPath());
  flushed_ += filled_;
  if (written_) written_(filled_);
  filled_ = 0;
}

void DglOutput::PutBytes(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    if (filled_ == buffer_.size()) Flush();
    const size_t size = std::min(bytes.size(), buffer_.size() - filled_);
    std::memcpy(buffer_.data() + filled_, bytes.data(), size);
    filled_ += size;
    bytes = bytes.subspan(size);
  }
}

void DglOutput::PutText(const std::string& text) {
  Put(uint64_t{text.size()});
  PutBytes(std::as_bytes(std::span(text)));
}

void DglOutput::PutZeros(size_t count) {
  for (size_t i = 0; i < count; i++) Put(uint8_t{0});
}

void DglOutput::BeginArray(DType dtype, const std::vector<int64_t>& shape) {
  const dgl::DTypeCode& code = CodeOf(dtype);
  auto bytes = static_cast<int64_t>(DTypeSize(dtype));
  for (int64_t extent : shape) bytes *= extent;
  Put(dgl::kArrayMagic);
  Put(uint64_t{0});
  Put(int32_t{1});  // CPU
  Put(int32_t{0});
  Put(static_cast<int32_t>(shape.size()));
  Put(code.kind);
  Put(code.bits);
  Put(uint16_t{1});
  for (int64_t extent : shape) Put(extent);
  Put(bytes);
  array_end_ = position() + static_cast<uint64_t>(bytes);
}

void DglOutput::EndArray() {
  GRAPHD_CHECK(position() == array_end_, "an array gets as many elements as its shape says");
}

void DglOutput::PutIds(std::span<const int64_t> ids) {
  BeginArray(DType::kInt64, {std::ssize(ids)});
  PutBytes(std::as_bytes(ids));
  EndArray();
}

uint64_t DglOutput::Finish() {
  Flush();
  Sync(fd_.get(), TemporaryPath());
  if (std::rename(TemporaryPath().c_str(), path_.c_str()) != 0) {
    ThrowErrno("can't rename to", path_);
  }
  fd_.reset();
  SyncDirectory(DirName(path_));
  return flushed_;
}

}  // namespace graphd
