// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <span>
#include <string>
#include <vector>

// Files that tests read and damage. Nothing here is thread-safe.

namespace graphd::test {

// A folder under the system's temporary directory, removed with everything in it at the end.
class TempFolder {
 public:
  TempFolder();
  ~TempFolder();
  TempFolder(const TempFolder&) = delete;
  TempFolder& operator=(const TempFolder&) = delete;
  const std::string& path() const noexcept { return path_; }
  // path()/name
  std::string operator/(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

std::string ReadAll(const std::string& path);
void WriteAll(const std::string& path, const std::string& bytes);  // makes folders as needed

// Copies a folder tree to `to`; every NAME.gz arrives unpacked as NAME.
void CopyUnpacked(const std::string& from, const std::string& to);

// The folders within `root` that hold expected.json or expected.json.gz, sorted by name.
std::vector<std::string> FindFixtures(const std::string& root);
// The copies in the source tree; $GRAPHD_FIXTURES if set, else those.
std::string SourceFixtureRoot();
std::string FixtureRoot();

// Lower-case hexadecimal.
std::string Sha256(std::span<const std::byte> bytes);

}  // namespace graphd::test
