// SPDX-License-Identifier: Apache-2.0
#include "text_files.h"

#include <zlib.h>

#include <fstream>
#include <iterator>
#include <stdexcept>

#include "base/file.h"

namespace graphd::testing {

void WriteText(const std::string& path, const std::string& text) {
  MakeDirectories(DirName(path));
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file.write(text.data(), static_cast<std::streamsize>(text.size()));
  if (!file.flush()) throw std::runtime_error("can't write " + path);
}

void WriteGzip(const std::string& path, const std::string& text) {
  MakeDirectories(DirName(path));
  const gzFile file = gzopen(path.c_str(), "wb");
  if (!file) throw std::runtime_error("can't write " + path);
  const int wanted = static_cast<int>(text.size());
  const int put = wanted ? gzwrite(file, text.data(), static_cast<unsigned>(wanted)) : 0;
  if (gzclose(file) != Z_OK || put != wanted) throw std::runtime_error("can't write " + path);
}

std::string ReadBytes(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw std::runtime_error("can't read " + path);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

}  // namespace graphd::testing
