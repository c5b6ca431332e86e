// SPDX-License-Identifier: Apache-2.0
#include "format/io/names_file.h"

#include <fcntl.h>
#include <unistd.h>
#include <zlib.h>

#include <utility>

#include "base/file.h"

namespace graphd {
namespace {

constexpr size_t kPieceBytes = size_t{64} << 10;

gzFile AsGzip(void* file) { return static_cast<gzFile>(file); }

}  // namespace

NamesFile::NamesFile(std::string path, std::string temporary)
    : path_(std::move(path)),
      temporary_(temporary.empty() ? path_ + ".tmp" + std::to_string(::getpid())
                                   : std::move(temporary)),
      file_(gzopen(temporary_.c_str(), "wbe1")) {
  if (file_ == nullptr) ThrowErrno("can't write", temporary_);
  gzbuffer(AsGzip(file_), 256 << 10);  // if it fails, zlib uses its smaller buffer
}

NamesFile::~NamesFile() {
  if (file_ != nullptr) gzclose(AsGzip(file_));
  if (!finished_) ::unlink(temporary_.c_str());
}

void NamesFile::Add(std::string_view name) {
  piece_.append(name) += '\n';
  if (piece_.size() >= kPieceBytes) Write();
}

void NamesFile::Write() {
  const auto size = static_cast<unsigned>(piece_.size());
  if (size != 0 && gzwrite(AsGzip(file_), piece_.data(), size) != static_cast<int>(size)) {
    ThrowErrno("can't write", path_);
  }
  piece_.clear();
}

void NamesFile::Finish() {
  Write();
  if (gzclose(AsGzip(std::exchange(file_, nullptr))) != Z_OK) ThrowErrno("can't write", path_);
  Sync(OpenFile(temporary_, O_RDONLY).get(), temporary_);
  if (::rename(temporary_.c_str(), path_.c_str()) != 0) ThrowErrno("can't rename to", path_);
  finished_ = true;
}

}  // namespace graphd
