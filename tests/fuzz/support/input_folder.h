// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace graphd::fuzz {

// The name and the bytes of a file.
using NamedBytes = std::pair<std::string, std::string>;

// Packs files into one input: for each file a line "@@ NAME", its bytes and a line feed.
std::string Pack(const std::vector<NamedBytes>& files);

// Packs all files below a directory.
std::string PackDirectory(const std::string& directory);

// Returns the contents of a file in tests/fixtures, unpacked if it is gzip-compressed.
std::string Fixture(const std::string& path);

// A directory with the files of the current input, for readers that take paths. It is made in
// $TMPDIR, which should be a tmpfs, and used for all inputs.
class InputFolder {
 public:
  // The input may have these files and no others.
  explicit InputFolder(std::vector<std::string> names);
  ~InputFolder();
  InputFolder(const InputFolder&) = delete;
  InputFolder& operator=(const InputFolder&) = delete;

  // Replaces all files by those of an input that Pack made; a name that is not allowed is skipped.
  void Unpack(std::string_view input);
  // Writes one file.
  void Write(const std::string& name, std::string_view bytes) const;

  const std::string& path() const noexcept { return path_; }
  // Returns the path of a file.
  std::string operator/(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::vector<std::string> names_;
  std::string path_;
};

}  // namespace graphd::fuzz
