// SPDX-License-Identifier: Apache-2.0
#include "format/io/spill_files.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>

#include "base/failure.h"
#include "base/strings.h"
#include "format/io/npy_file.h"

namespace graphd {
namespace {

constexpr size_t kSpillBufferBytes = size_t{256} << 10;
// The time between two checks of the resident pages. Even at 4 GB/s, which is more than page faults
// allow, only 4 MB become resident in this time.
constexpr std::chrono::milliseconds kLookInterval{1};

}  // namespace

ResidentMemory ReadResidentMemory(int statm) noexcept {
  char text[128];
  const ssize_t got = ::pread(statm, text, sizeof text - 1, 0);
  if (got <= 0) return {};
  text[got] = '\0';
  unsigned long long size = 0, resident = 0, shared = 0;
  if (std::sscanf(text, "%llu %llu %llu", &size, &resident, &shared) != 3) return {};
  const auto page = static_cast<uint64_t>(::sysconf(_SC_PAGESIZE));
  return {(resident - shared) * page, shared * page};
}

SpillFiles::SpillFiles(std::string directory, uint64_t resident_bytes)
    : directory_(std::move(directory)),
      resident_bytes_(resident_bytes),
      statm_(OpenFile("/proc/self/statm", O_RDONLY)) {
  MakeDirectories(directory_);
  keeper_ = std::jthread([this](const std::stop_token& stop) {
    LogFailure("releasing pages of files", [&] { KeepBelowLimit(stop); });
  });
}

SpillFiles::~SpillFiles() {
  keeper_.request_stop();
  {
    const MutexLock lock(mutex_);
    stopped_.NotifyAll();
  }
  keeper_.join();
}

std::string SpillFiles::NewPath() {
  const MutexLock lock(mutex_);
  std::string path;
  do {
    path = JoinPath(directory_, StrCat("data", next_file_++));
  } while (FileExists(path));
  return path;
}

Tensor SpillFiles::Map(const FileRange& range, DType dtype, std::vector<int64_t> shape) {
  const auto file = std::make_shared<MappedFile>(range.path);
  const std::span<const std::byte> bytes = file->bytes();
  const uint64_t offset = std::min<uint64_t>(range.offset, bytes.size());
  Tensor tensor(dtype, std::move(shape), const_cast<std::byte*>(bytes.data()) + offset, file);
  if (offset != range.offset || tensor.num_bytes() > bytes.size() - offset ||
      offset % DTypeSize(dtype) != 0) {
    Throw(ErrorCode::kCorrupt, range.path, ": ", bytes.size(), " bytes, expected ",
          tensor.num_bytes(), " behind offset ", range.offset, "; remove ", directory_,
          " and start again");
  }
  Note(tensor, bytes, range.path);
  return tensor;
}

Tensor SpillFiles::MapNpyFile(const std::string& path) {
  Tensor tensor = MapNpy(path);
  const NpyFile header(path);  // tells where the elements begin
  const uint64_t offset = header.data_offset();
  // If the array is not aligned, MapNpy has copied it into memory, so there is no mapping.
  if (offset % DTypeSize(tensor.dtype()) == 0 && tensor.num_bytes() > 0) {
    Note(tensor, {tensor.data() - offset, offset + tensor.num_bytes()}, path);
  }
  return tensor;
}

std::optional<FileRange> SpillFiles::Find(const Tensor& tensor) const {
  const MutexLock lock(mutex_);
  for (const Mapping& mapping : mappings_) {
    if (mapping.owner.expired()) continue;
    const std::byte* begin = mapping.bytes.data();
    if (tensor.data() < begin || tensor.data() >= begin + mapping.bytes.size()) continue;
    return FileRange{mapping.path, static_cast<uint64_t>(tensor.data() - begin)};
  }
  return std::nullopt;
}

void SpillFiles::Note(const Tensor& tensor, std::span<const std::byte> file,
                      const std::string& path) {
  if (file.empty()) return;
  const MutexLock lock(mutex_);
  std::erase_if(mappings_, [](const Mapping& mapping) { return mapping.owner.expired(); });
  // The path is absolute because another process, with another current directory, may continue with
  // the file.
  mappings_.push_back({file, std::filesystem::absolute(path).string(), tensor.owner()});
}

void SpillFiles::ReleasePages() {
  const MutexLock lock(mutex_);
  for (const Mapping& mapping : mappings_) {
    // The owner keeps the range mapped meanwhile.
    const std::shared_ptr<void> owner = mapping.owner.lock();
    if (!owner) continue;
    ::madvise(const_cast<std::byte*>(mapping.bytes.data()), mapping.bytes.size(), MADV_DONTNEED);
  }
}

void SpillFiles::KeepBelowLimit(const std::stop_token& stop) {
  const uint64_t before = ReadResidentMemory(statm_.get()).files;
  while (!stop.stop_requested()) {
    {
      const MutexLock lock(mutex_);
      if (!stop.stop_requested()) stopped_.WaitFor(mutex_, kLookInterval);
    }
    // Pages are released at half the limit. The other half is for pages that become resident before
    // this thread looks again, which takes longer on a busy machine.
    if (ReadResidentMemory(statm_.get()).files > before + resident_bytes_ / 2) ReleasePages();
  }
}

SpillFile::SpillFile(std::string path)
    : path_(std::move(path)), fd_(OpenFile(path_, O_RDWR | O_CREAT | O_TRUNC)) {}

void SpillFile::Append(std::span<const std::byte> bytes) {
  if (buffer_.size() + bytes.size() > kSpillBufferBytes) Flush();
  if (bytes.size() >= kSpillBufferBytes) {
    WriteExactly(fd_.get(), bytes, path_);
    written_ += bytes.size();
  } else {
    buffer_.insert(buffer_.end(), bytes.begin(), bytes.end());
  }
}

void SpillFile::Flush() {
  WriteExactly(fd_.get(), buffer_, path_);
  written_ += buffer_.size();
  buffer_.clear();
}

}  // namespace graphd
