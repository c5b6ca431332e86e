// SPDX-License-Identifier: Apache-2.0
#include "ctl/verbs/checkpoint_export.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>

#include "base/file.h"
#include "base/strings.h"
#include "store/rows/update_rule.h"

namespace graphd::ctl {
namespace {

namespace fs = std::filesystem;

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

// A .npy file whose rows can be written in any order.
class NpyRows {
 public:
  NpyRows(std::string path, DType dtype, const std::vector<int64_t>& shape)
      : path_(std::move(path)), fd_(OpenFile(path_, O_WRONLY | O_CREAT | O_EXCL)) {
    std::string extents;
    for (const int64_t extent : shape) extents += StrCat(extent, ", ");
    std::string header = StrCat("{'descr': '", Descr(dtype),
                                "', 'fortran_order': False, 'shape': (", extents, "), }");
    header.append(63 - (10 + header.size()) % 64, ' ');
    header += '\n';
    const auto length = static_cast<uint16_t>(header.size());
    std::string all("\x93NUMPY\x01\x00", 8);
    all.append(reinterpret_cast<const char*>(&length), 2);
    all += header;
    begin_ = all.size();
    Put(std::as_bytes(std::span(all)), 0);
  }
  void Write(int64_t row, std::span<const std::byte> bytes) {
    Put(bytes, begin_ + static_cast<uint64_t>(row) * bytes.size());
  }
  const std::string& path() const { return path_; }

 private:
  void Put(std::span<const std::byte> bytes, uint64_t at) {
    while (!bytes.empty()) {
      const ssize_t put = ::pwrite(fd_.get(), bytes.data(), bytes.size(), static_cast<off_t>(at));
      if (put < 0 && errno == EINTR) continue;
      if (put < 0) ThrowErrno("can't write", path_);
      at += static_cast<uint64_t>(put);
      bytes = bytes.subspan(static_cast<size_t>(put));
    }
  }

  std::string path_;
  UniqueFd fd_;
  uint64_t begin_ = 0;
};

// Replaces characters that a file name can't contain: tensors may have any name.
std::string FileNameOf(const std::string& tensor) {
  std::string name = tensor;
  std::replace(name.begin(), name.end(), '/', '_');
  return name[0] == '.' ? "_" + name : name;
}

void ExportTensor(CheckpointClient& client, const Checkpoint& checkpoint,
                  const CheckpointTensor& tensor, const std::string& stem,
                  std::vector<std::string>& written) {
  const TensorSpec& spec = tensor.spec;
  const auto floats = static_cast<int64_t>(store::StateFloats(tensor.state, spec.row_elements()));
  NpyRows values(stem + ".npy", spec.dtype, spec.shape());
  std::unique_ptr<NpyRows> states;
  if (floats != 0) {
    states = std::make_unique<NpyRows>(stem + ".state.npy", DType::kFloat32,
                                       std::vector<int64_t>{spec.rows, floats});
  }
  // Partitions arrive in ascending order, and so do their rows.
  int64_t next = 0;
  client.EachRows(checkpoint, tensor, [&](const CheckpointClient::Rows& rows) {
    const size_t row_bytes = rows.values.size() / static_cast<size_t>(rows.count);
    const size_t state_bytes = rows.states.size() / static_cast<size_t>(rows.count);
    for (size_t i = 0; i < static_cast<size_t>(rows.count); i++, next++) {
      const int64_t to = rows.orig_ids.empty() ? next : rows.orig_ids[i];
      if (to < 0 || to >= spec.rows) {
        Throw(ErrorCode::kInvalid, "tensor '", spec.name, "': orig_id ", to, " is outside 0..",
              spec.rows - 1, ", so it is not a row of the array");
      }
      values.Write(to, rows.values.subspan(i * row_bytes, row_bytes));
      if (states) states->Write(to, rows.states.subspan(i * state_bytes, state_bytes));
    }
  });
  written.push_back(values.path());
  if (states) written.push_back(states->path());
}

}  // namespace

std::vector<std::string> ExportCheckpoint(CheckpointClient& client, const std::string& name,
                                          const std::vector<std::string>& tensors,
                                          const std::string& directory) {
  const Checkpoint checkpoint = client.Find(name);
  for (const std::string& wanted : tensors) {
    if (std::none_of(checkpoint.tensors.begin(), checkpoint.tensors.end(),
                     [&](const CheckpointTensor& each) { return each.spec.name == wanted; })) {
      Throw(ErrorCode::kNotFound, "checkpoint '", name, "' has no tensor '", wanted, "'");
    }
  }
  MakeDirectories(directory);
  if (!fs::is_empty(directory)) {
    Throw(ErrorCode::kExists, directory, " is not empty; give another directory");
  }
  std::vector<std::string> written;
  for (const CheckpointTensor& tensor : checkpoint.tensors) {
    if (!tensors.empty() && std::count(tensors.begin(), tensors.end(), tensor.spec.name) == 0) {
      continue;
    }
    ExportTensor(client, checkpoint, tensor, StrCat(directory, "/", FileNameOf(tensor.spec.name)),
                 written);
  }
  if (!checkpoint.files.empty()) MakeDirectories(directory + "/files");
  for (const auto& [file, bytes] : checkpoint.files) {
    const std::string path = StrCat(directory, "/files/", file);
    WriteFileAtomically(path, client.ReadFile(name, file));
    written.push_back(path);
  }
  return written;
}

}  // namespace graphd::ctl
