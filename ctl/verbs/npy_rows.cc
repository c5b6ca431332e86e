// SPDX-License-Identifier: Apache-2.0
#include "ctl/verbs/npy_rows.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <map>
#include <utility>

#include "base/directory.h"
#include "base/strings.h"

namespace graphd::ctl {
namespace {

constexpr const char* kPartSuffix = ".part";
constexpr size_t kLongestStem = 255 - 16;  // leaves room for ".state.npy.part"

// Returns NumPy's descriptor of a dtype.
std::string Descr(DType dtype) {
  const std::string name = DTypeName(dtype);
  const size_t size = DTypeSize(dtype);
  const char kind = dtype == DType::kBool        ? 'b'
                    : name.starts_with("uint")   ? 'u'
                    : name.starts_with("int")    ? 'i'
                    : name.starts_with("bfloat") ? 'V'
                                                 : 'f';
  return StrCat(size == 1 ? "|" : "<", kind, size);
}

size_t RowBytes(DType dtype, const std::vector<int64_t>& shape) {
  size_t bytes = DTypeSize(dtype);
  for (size_t i = 1; i < shape.size(); i++) bytes *= static_cast<size_t>(shape[i]);
  return bytes;
}

}  // namespace

NpyRows::NpyRows(std::string path, DType dtype, const std::vector<int64_t>& shape)
    : path_(std::move(path)),
      part_path_(path_ + kPartSuffix),
      num_rows_(shape[0]),
      row_bytes_(RowBytes(dtype, shape)),
      fd_(OpenFile(part_path_, O_WRONLY | O_CREAT | O_EXCL)) {
  std::string extents;
  for (const int64_t extent : shape) extents += StrCat(extent, ", ");
  std::string header =
      StrCat("{'descr': '", Descr(dtype), "', 'fortran_order': False, 'shape': (", extents, "), }");
  header.append(63 - (10 + header.size()) % 64, ' ');
  header += '\n';
  const auto length = static_cast<uint16_t>(header.size());
  std::string all("\x93NUMPY\x01\x00", 8);
  all.append(reinterpret_cast<const char*>(&length), 2);
  all += header;
  begin_ = all.size();
  Put(std::as_bytes(std::span(all)), 0);
}

void NpyRows::Put(std::span<const std::byte> bytes, uint64_t at) {
  while (!bytes.empty()) {
    const ssize_t put = ::pwrite(fd_.get(), bytes.data(), bytes.size(), static_cast<off_t>(at));
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) ThrowErrno("can't write", path_);
    at += static_cast<uint64_t>(put);
    bytes = bytes.subspan(static_cast<size_t>(put));
  }
}

NpyRows::~NpyRows() {
  if (!finished_) ::unlink(part_path_.c_str());
}

void NpyRows::Finish() {
  fd_.reset();
  RenameFile(part_path_, path_);
  finished_ = true;
}

void NpyRows::Write(int64_t begin, std::span<const int64_t> orig_ids,
                    std::span<const std::byte> rows) {
  const auto place = [&](int64_t row) { return begin_ + static_cast<uint64_t>(row) * row_bytes_; };
  if (orig_ids.empty()) return Put(rows, place(begin));
  if (rows.size() != orig_ids.size() * row_bytes_) {
    Throw(ErrorCode::kInvalid, path_, ": ", rows.size(), " bytes of rows came with ",
          orig_ids.size(), " values of orig_id");
  }
  for (size_t i = 0; i < orig_ids.size(); i++) {
    const int64_t to = orig_ids[i];
    if (to < 0 || to >= num_rows_) {
      Throw(ErrorCode::kInvalid, path_, ": orig_id ", to, " is outside 0..", num_rows_ - 1,
            ", so it is not a row of the array");
    }
    Put(rows.subspan(i * row_bytes_, row_bytes_), place(to));
  }
}

std::vector<std::string> FileStemsOf(const std::vector<std::string>& tensors) {
  std::vector<std::string> stems;
  std::map<std::string, std::string> tensor_of;
  for (const std::string& tensor : tensors) {
    std::string stem = tensor;
    std::replace(stem.begin(), stem.end(), '/', '_');
    if (stem[0] == '.') stem.insert(0, "_");
    if (stem.size() > kLongestStem) {
      Throw(ErrorCode::kInvalid, "the name of tensor '", tensor, "' has ", stem.size(),
            " bytes, too many for a file; read the tensor in a program");
    }
    const auto [at, is_new] = tensor_of.emplace(stem, tensor);
    if (!is_new) {
      Throw(ErrorCode::kExists, "tensors '", at->second, "' and '", tensor,
            "' would both be written to ", stem, ".npy; export them one after the other");
    }
    stems.push_back(std::move(stem));
  }
  return stems;
}

void MakeExportDirectory(const std::string& directory) {
  MakeDirectories(directory);
  if (!std::filesystem::is_empty(directory)) {
    Throw(ErrorCode::kExists, directory, " is not empty; give another directory");
  }
}

}  // namespace graphd::ctl
