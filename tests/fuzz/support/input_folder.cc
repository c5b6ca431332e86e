// SPDX-License-Identifier: Apache-2.0
#include "tests/fuzz/support/input_folder.h"

#include <fcntl.h>
#include <stdlib.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <filesystem>

#include "base/file.h"
#include "base/strings.h"

namespace graphd::fuzz {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kMark = "@@ ";

}  // namespace

std::string Pack(const std::vector<NamedBytes>& files) {
  std::string input;
  for (const auto& [name, bytes] : files) input += StrCat(kMark, name, "\n", bytes, "\n");
  return input;
}

std::string PackDirectory(const std::string& directory) {
  std::vector<NamedBytes> files;
  for (const auto& entry : fs::recursive_directory_iterator(directory)) {
    if (!entry.is_regular_file()) continue;
    files.emplace_back(entry.path().lexically_relative(directory), ReadTextFile(entry.path()));
  }
  std::sort(files.begin(), files.end());
  return Pack(files);
}

std::string Fixture(const std::string& path) {
  const std::string whole = StrCat(GRAPHD_FIXTURES_DIR, "/", path);
  const gzFile file = gzopen(whole.c_str(), "rb");
  if (file == nullptr) ThrowErrno("can't open", whole);
  std::string bytes;
  std::array<char, 1 << 16> piece;
  for (int got; (got = gzread(file, piece.data(), piece.size())) > 0;) {
    bytes.append(piece.data(), static_cast<size_t>(got));
  }
  gzclose(file);
  return bytes;
}

InputFolder::InputFolder(std::vector<std::string> names) : names_(std::move(names)) {
  path_ = (fs::temp_directory_path() / "graphd_fuzz_XXXXXX").string();
  if (::mkdtemp(path_.data()) == nullptr) ThrowErrno("can't create", path_);
  for (const std::string& name : names_)
    fs::create_directories(fs::path(*this / name).parent_path());
}

InputFolder::~InputFolder() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

void InputFolder::Unpack(std::string_view input) {
  std::vector<bool> written(names_.size());
  while (input.starts_with(kMark)) {
    const size_t line = input.find('\n');
    if (line == input.npos) break;
    const size_t end = std::min(input.find(StrCat("\n", kMark), line + 1), input.size());
    const auto name =
        std::find(names_.begin(), names_.end(), input.substr(kMark.size(), line - kMark.size()));
    // The line feed after the last file may be missing.
    std::string_view bytes = input.substr(line + 1, end - line - 1);
    if (end == input.size() && bytes.ends_with('\n')) bytes.remove_suffix(1);
    if (name != names_.end()) {
      Write(*name, bytes);
      written[static_cast<size_t>(name - names_.begin())] = true;
    }
    input.remove_prefix(std::min(end + 1, input.size()));
  }
  for (size_t i = 0; i < names_.size(); i++) {
    if (!written[i]) fs::remove(*this / names_[i]);
  }
}

void InputFolder::Write(const std::string& name, std::string_view bytes) const {
  const std::string path = *this / name;
  const UniqueFd fd = OpenFile(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
  WriteExactly(fd.get(), std::as_bytes(std::span(bytes)), path);
}

}  // namespace graphd::fuzz
