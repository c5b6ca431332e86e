// SPDX-License-Identifier: Apache-2.0
#include "format/data_files.h"

#include <xxhash.h>

#include <algorithm>
#include <cstdio>

#include "base/file.h"
#include "base/strings.h"
#include "format/load.h"

namespace graphd {

std::vector<FileStamp> StampDataFiles(const PartConfig& config, std::span<const PartId> parts) {
  std::vector<FileStamp> files;
  for (const PartId part : parts) {
    for (const std::string& path : PartitionFiles(config, part)) {
      files.push_back(FileStamp::Of(path));
    }
  }
  return files;
}

uint64_t DataHash(const std::vector<FileStamp>& files) {
  std::string text;
  for (const FileStamp& file : files) {
    text += StrCat(file.bytes, " ", file.modified, "\n");
    if (file.path.ends_with(".json")) text += ReadTextFile(file.path);
  }
  return std::max<uint64_t>(XXH3_64bits(text.data(), text.size()), 1);
}

std::string Fingerprint(uint64_t data_hash) {
  char digits[17];
  std::snprintf(digits, sizeof digits, "%016llx", static_cast<unsigned long long>(data_hash));
  return digits;
}

}  // namespace graphd
