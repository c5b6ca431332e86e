// SPDX-License-Identifier: Apache-2.0
#include "daemon/restart/switch_record.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <functional>
#include <string>

#include "base/file.h"
#include "base/strings.h"
#include "tests/unit/format/scratch_directory.h"

namespace graphd::testing {
namespace {

const SwitchRecord kRecord{"/old/g.json", "/new/g.json", "0123", "89ab"};

class SwitchRecordTest : public ::testing::Test {
 protected:
  static ErrorCode CodeOf(const std::function<void()>& action) {
    try {
      action();
    } catch (const Error& error) {
      return error.code();
    }
    return ErrorCode::kInternal;
  }
  void Publish() const {
    kRecord.Prepare(path_);
    SwitchRecord::Publish(path_);
  }
  ErrorCode ReadFails() const {
    return CodeOf([&] { SwitchRecord::Read(path_); });
  }
  const ScratchDirectory scratch_;
  const std::string path_ = scratch_ / "state/part-0.switched";
};

TEST_F(SwitchRecordTest, CountsWhenItIsPublished) {
  EXPECT_FALSE(SwitchRecord::Read(path_).has_value());
  kRecord.Prepare(path_);
  EXPECT_FALSE(SwitchRecord::Read(path_).has_value());
  SwitchRecord::Discard(path_);
  EXPECT_EQ(CodeOf([&] { SwitchRecord::Publish(path_); }), ErrorCode::kNotFound);
  Publish();
  const auto read = SwitchRecord::Read(path_);
  ASSERT_TRUE(read.has_value());
  EXPECT_EQ(read->configured, kRecord.configured);
  EXPECT_EQ(read->part_config, kRecord.part_config);
  EXPECT_EQ(read->id, kRecord.id);
  EXPECT_EQ(read->fingerprint, kRecord.fingerprint);
}

TEST_F(SwitchRecordTest, HoldsUntilTheConfigurationNamesSomethingElse) {
  EXPECT_TRUE(kRecord.Holds("/old/g.json"));
  EXPECT_TRUE(kRecord.Holds("/old/../old/./g.json"));
  EXPECT_TRUE(kRecord.Holds("/new/g.json"));
  EXPECT_FALSE(kRecord.Holds("/other/g.json"));
}

TEST_F(SwitchRecordTest, ATruncatedFileIsDamaged) {
  Publish();
  const std::string whole = ReadTextFile(path_);
  for (size_t size = 0; size < whole.size(); size++) {
    ASSERT_EQ(::truncate(path_.c_str(), static_cast<off_t>(size)), 0);
    EXPECT_EQ(ReadFails(), ErrorCode::kCorrupt) << size;
    WriteFileAtomically(path_, whole);
  }
  EXPECT_TRUE(SwitchRecord::Read(path_).has_value());
}

TEST_F(SwitchRecordTest, AFileThatOthersCouldHaveWrittenIsRefused) {
  Publish();
  ASSERT_EQ(::chmod(path_.c_str(), 0664), 0);
  EXPECT_EQ(ReadFails(), ErrorCode::kDenied);
  ASSERT_EQ(::chmod(path_.c_str(), 0600), 0);
  EXPECT_TRUE(SwitchRecord::Read(path_).has_value());
  const std::string target = scratch_ / "target";
  ASSERT_EQ(::rename(path_.c_str(), target.c_str()), 0);
  ASSERT_EQ(::symlink(target.c_str(), path_.c_str()), 0);
  EXPECT_THROW(SwitchRecord::Read(path_), Error);
  ASSERT_EQ(::unlink(path_.c_str()), 0);
  ASSERT_EQ(::mkfifo(path_.c_str(), 0600), 0);
  EXPECT_EQ(ReadFails(), ErrorCode::kDenied);
  ASSERT_EQ(::unlink(path_.c_str()), 0);
}

TEST_F(SwitchRecordTest, AFileOfAnotherUserIsRefused) {
  Publish();
  // Only root can give a file away, and only root's files are its own everywhere.
  const bool is_root = ::geteuid() == 0;
  if (is_root) {
    ASSERT_EQ(::chown(path_.c_str(), 1, 1), 0);
  }
  const std::string foreign = is_root ? path_ : "/etc/passwd";
  EXPECT_EQ(CodeOf([&] { SwitchRecord::Read(foreign); }), ErrorCode::kDenied);
}

TEST_F(SwitchRecordTest, ALineBreakIsRefused) {
  SwitchRecord record = kRecord;
  record.part_config = "/a\nid x";
  EXPECT_EQ(CodeOf([&] { record.Prepare(path_); }), ErrorCode::kInvalid);
}

}  // namespace
}  // namespace graphd::testing
