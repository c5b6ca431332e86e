// SPDX-License-Identifier: Apache-2.0
#include "format/io/file_stamp.h"

#include <sys/stat.h>

#include "base/file.h"

namespace graphd {

FileStamp FileStamp::Of(const std::string& path) {
  struct stat info {};
  if (::stat(path.c_str(), &info) != 0) ThrowErrno("can't find", path);
  return {path, info.st_dev, info.st_ino, static_cast<uint64_t>(info.st_size),
          info.st_mtim.tv_sec * int64_t{1'000'000'000} + info.st_mtim.tv_nsec};
}

}  // namespace graphd
