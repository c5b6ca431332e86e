// SPDX-License-Identifier: Apache-2.0
#include "store/checkpoint/checksums.h"

#include <algorithm>
#include <string_view>
#include <vector>

#include "base/directory.h"
#include "base/file.h"
#include "base/strings.h"
#include "store/rows/file_checksum.h"
#include "store/rows/page_db.h"

namespace graphd::store {
namespace {

constexpr size_t kDigits = 16;

std::string SumsPath(const std::string& directory) { return directory + "/sums"; }

std::string ChecksumOfText(std::string_view text) {
  FileChecksum checksum;
  checksum.Add(text.data(), text.size());
  return checksum.Digits();
}

}  // namespace

void WriteSums(const std::string& directory, const std::string& pages) {
  const std::vector<std::string> files = ListFilesBelow(directory);
  std::map<std::string, std::string> known;  // by path
  if (FileExists(pages)) {
    for (auto& [name, checksum] : PageDb(pages, PageDb::Mode::kReadOnly).FileChecksums()) {
      known[StrCat(pages, "/", name)] = checksum;
    }
  }
  std::string text;
  for (const std::string& path : files) {
    const uint64_t size = FileSize(path);
    const auto found = known.find(path);
    const std::string checksum = found != known.end() ? found->second : ChecksumOfFile(path, size);
    text += StrCat(checksum, " ", size, " ", path.substr(directory.size() + 1), "\n");
  }
  text += ChecksumOfText(text) + "\n";
  WriteFileAtomically(SumsPath(directory), text);
}

CheckpointChecksums::CheckpointChecksums(const std::string& directory) : directory_(directory) {
  const std::string path = SumsPath(directory);
  const std::string text = ReadTextFile(path);
  const size_t end = text.size() - std::min(text.size(), kDigits + 1);
  const std::string_view lines = std::string_view(text).substr(0, end);
  if (text.substr(end) != ChecksumOfText(lines) + "\n") {
    Throw(ErrorCode::kCorrupt, path, ": its checksum is wrong");
  }
  for (std::string_view rest = lines; !rest.empty();) {
    const size_t space = rest.find(' ', kDigits + 1), newline = rest.find('\n');
    if (newline == rest.npos || space >= newline) {
      Throw(ErrorCode::kCorrupt, path, ": a line does not describe a file");
    }
    const std::string size(rest.substr(kDigits + 1, space - kDigits - 1));
    sums_[std::string(rest.substr(space + 1, newline - space - 1))] = {
        std::string(rest.substr(0, kDigits)),
        static_cast<uint64_t>(ParseInt(size, "size of a file", 0))};
    rest.remove_prefix(newline + 1);
  }
}

void CheckpointChecksums::Verify(const std::string& file) const {
  const std::string path = StrCat(directory_, "/", file);
  const auto known = sums_.find(file);
  const bool there = FileExists(path);
  if (known == sums_.end()) {
    if (there) Throw(ErrorCode::kCorrupt, path, " does not belong to the checkpoint");
    return;
  }
  if (!there) Throw(ErrorCode::kCorrupt, path, " is missing");
  if (const uint64_t size = FileSize(path); size != known->second.size) {
    Throw(ErrorCode::kCorrupt, path, " has ", size, " bytes and should have ", known->second.size);
  }
  if (ChecksumOfFile(path, known->second.size) != known->second.checksum) {
    Throw(ErrorCode::kCorrupt, path, ": its checksum is wrong");
  }
}

void CheckpointChecksums::VerifyAll(const std::string& prefix) const {
  for (const auto& [file, sum] : sums_) {
    if (file.starts_with(prefix)) Verify(file);
  }
}

}  // namespace graphd::store
