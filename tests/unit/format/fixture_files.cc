// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/format/fixture_files.h"

#include <openssl/evp.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "base/strings.h"

namespace graphd::test {
namespace fs = std::filesystem;

TempFolder::TempFolder() {
  std::string pattern = (fs::temp_directory_path() / "graphd-test-XXXXXX").string();
  if (!::mkdtemp(pattern.data())) Throw(ErrorCode::kIo, "can't make ", pattern);
  path_ = pattern;
}

TempFolder::~TempFolder() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

std::string ReadAll(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  if (!file) Throw(ErrorCode::kIo, "can't read ", path);
  return std::move(text).str();
}

void WriteAll(const std::string& path, const std::string& bytes) {
  fs::create_directories(fs::path(path).parent_path());
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  if (!file.flush()) Throw(ErrorCode::kIo, "can't write ", path);
}

namespace {
std::string Unpack(const std::string& path) {
  gzFile file = gzopen(path.c_str(), "rb");
  if (!file) Throw(ErrorCode::kIo, "can't open ", path);
  std::string bytes;
  std::array<char, 65536> block;
  int got = 0;
  while ((got = gzread(file, block.data(), block.size())) > 0) {
    bytes.append(block.data(), static_cast<size_t>(got));
  }
  gzclose(file);
  if (got < 0) Throw(ErrorCode::kCorrupt, "can't unpack ", path);
  return bytes;
}
}  // namespace

void CopyUnpacked(const std::string& from, const std::string& to) {
  for (const auto& entry : fs::recursive_directory_iterator(from)) {
    if (!entry.is_regular_file()) continue;
    const std::string relative = fs::relative(entry.path(), from).string();
    if (entry.path().extension() == ".gz") {
      WriteAll(to + "/" + relative.substr(0, relative.size() - 3), Unpack(entry.path().string()));
    } else {
      WriteAll(to + "/" + relative, ReadAll(entry.path().string()));
    }
  }
}

std::vector<std::string> FindFixtures(const std::string& root) {
  std::vector<std::string> found;
  if (!fs::is_directory(root)) return found;
  for (const auto& entry : fs::directory_iterator(root)) {
    if (fs::exists(entry.path() / "expected.json") || fs::exists(entry.path() / "expected.json.gz"))
      found.push_back(entry.path().string());
  }
  std::sort(found.begin(), found.end());
  return found;
}

std::string SourceFixtureRoot() { return GRAPHD_DGL_FIXTURES; }

std::string FixtureRoot() {
  const char* named = std::getenv("GRAPHD_FIXTURES");
  return named && *named ? named : SourceFixtureRoot();
}

std::string Sha256(std::span<const std::byte> bytes) {
  std::array<unsigned char, 32> digest;
  unsigned size = 0;
  if (!EVP_Digest(bytes.data(), bytes.size(), digest.data(), &size, EVP_sha256(), nullptr)) {
    Throw(ErrorCode::kInternal, "SHA-256 failed");
  }
  std::string hex;
  for (unsigned char byte : digest) {
    hex += "0123456789abcdef"[byte >> 4];
    hex += "0123456789abcdef"[byte & 15];
  }
  return hex;
}

}  // namespace graphd::test
