// SPDX-License-Identifier: Apache-2.0
#include "format/io/names_file.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "base/file.h"
#include "graphd/error.h"
#include "tests/unit/format/scratch_directory.h"

namespace graphd {
namespace {

namespace fs = std::filesystem;
using testing::ScratchDirectory;

TEST(NamesFile, ItsNameComesWithTheLastLine) {
  const ScratchDirectory directory;
  const std::string path = directory / "names";
  NamesFile file(path);
  file.Add("a");
  EXPECT_FALSE(fs::exists(path));
  file.Finish();
  EXPECT_TRUE(fs::exists(path));
}

TEST(NamesFile, AFileThatCouldNotBeFinishedIsRemoved) {
  const ScratchDirectory directory;
  fs::create_directories(directory / "names/in_the_way");
  {
    NamesFile file(directory / "names", directory / "temporary");
    file.Add("a");
    EXPECT_THROW(file.Finish(), Error);
  }
  EXPECT_FALSE(fs::exists(directory / "temporary"));
}

}  // namespace
}  // namespace graphd
