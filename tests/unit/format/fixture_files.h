// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <span>
#include <string>
#include <vector>

// Functions for files that tests read and damage. None of them is thread-safe.

namespace graphd::test {

// A folder in the system's temporary directory, removed with its contents when destroyed.
class TempFolder {
 public:
  TempFolder();
  ~TempFolder();
  TempFolder(const TempFolder&) = delete;
  TempFolder& operator=(const TempFolder&) = delete;
  const std::string& path() const noexcept { return path_; }
  // Returns path()/name.
  std::string operator/(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

std::string ReadAll(const std::string& path);
void WriteAll(const std::string& path, const std::string& bytes);  // creates folders as needed

// Copies a folder tree to `to`, unpacking every NAME.gz to NAME.
void CopyUnpacked(const std::string& from, const std::string& to);

// Returns the folders within `root` that contain expected.json or expected.json.gz, sorted by name.
std::vector<std::string> FindFixtures(const std::string& root);
// Return the fixtures' folder in the source tree; FixtureRoot() returns $GRAPHD_FIXTURES if it is
// set.
std::string SourceFixtureRoot();
std::string FixtureRoot();

// Returns the hash in lower-case hexadecimal.
std::string Sha256(std::span<const std::byte> bytes);

}  // namespace graphd::test
