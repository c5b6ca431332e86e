// SPDX-License-Identifier: Apache-2.0
#include "ctl/columns/python_columns.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "tests/support/error_of.h"
#include "tests/unit/format/scratch_directory.h"

namespace graphd::ctl {
namespace {

using graphd::testing::ErrorOf;
using graphd::testing::ScratchDirectory;
using ::testing::AllOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::SizeIs;
using ::testing::StartsWith;

// The user may name any program as the interpreter: here, programs of the shell stand for those
// that do not do what they should.
class PythonColumnsTest : public ::testing::Test {
 protected:
  // Returns what reading a table by a program says.
  std::string Says(const std::string& program) {
    const std::string path = scratch_ / "python";
    WriteFileAtomically(path, "#!/bin/sh\n" + program + "\n");
    std::filesystem::permissions(path, std::filesystem::perms::owner_all);
    PythonColumns columns(path);
    return ErrorOf([&] { columns.Sample("t.parquet", 1); });
  }
  ScratchDirectory scratch_;
};

TEST_F(PythonColumnsTest, AnInterpreterThatIsNotThereIsNamed) {
  PythonColumns columns(scratch_ / "none");
  for (int i = 0; i < 2; i++) {
    EXPECT_THAT(ErrorOf([&] { columns.Read("t.parquet", {"a"}); }),
                AllOf(StartsWith("not_found: can't run "), HasSubstr("/none: "),
                      HasSubstr("name an interpreter that has it with --python")));
  }
  PythonColumns directory(scratch_.path());
  EXPECT_THAT(ErrorOf([&] { directory.Read("t.parquet", {}); }), StartsWith("invalid: can't run "));
}

TEST_F(PythonColumnsTest, AReportGivesTheErrorItsCode) {
  EXPECT_EQ(Says(R"(read line; echo noise >&2
                    echo '{"code": "corrupt", "message": "t.parquet: is short"}' >&2; exit 1)"),
            "corrupt: t.parquet: is short");
  EXPECT_EQ(Says(R"(echo '{"code": "unheard of", "message": "m"}' >&2; exit 1)"), "io: m");
  EXPECT_EQ(Says(R"(echo '{"code": 7, "message": "m"}' >&2; exit 1)"), "io: m");
  EXPECT_EQ(Says(R"(echo '{"message": "m"}' >&2; exit 1)"), "io: m");
}

TEST_F(PythonColumnsTest, AnEndWithoutAReportIsToldWithWhatWasSaid) {
  EXPECT_THAT(Says("echo 'no such option: -c' >&2; exit 3"),
              EndsWith("which reads tables stored by column, ended with exit code 3: no such "
                       "option: -c"));
  EXPECT_THAT(Says("exit 0"), EndsWith("ended with exit code 0"));
  EXPECT_THAT(Says("kill -9 $$"), EndsWith("ended with signal 9"));
  EXPECT_THAT(Says(R"(echo '{"code": "corrupt", "message": 7}' >&2; exit 1)"),
              AllOf(StartsWith("io: "), HasSubstr("ended with exit code 1: {\"code\"")));
}

TEST_F(PythonColumnsTest, OfManyWordsTheLastAreTold) {
  const std::string said = Says(
      "i=0; while [ $i -lt 2000 ]; do echo \"line $i of a long text\" >&2; i=$((i+1)); done; "
      "exit 1");
  EXPECT_THAT(said, EndsWith("line 1998 of a long text\nline 1999 of a long text"));
  EXPECT_THAT(said.substr(said.find("exit code 1: ") + 13), SizeIs(2000));
}

TEST_F(PythonColumnsTest, AnswersThatAreNoTableAreErrors) {
  EXPECT_THAT(Says("read line; echo 'this is no table in the format of Arrow'; cat >/dev/null"),
              StartsWith("corrupt: "));
  // A message of 16 bytes is announced, and the program ends before.
  EXPECT_THAT(Says(R"(read line; printf '\377\377\377\377\020\000\000\000abc'; exit 4)"),
              EndsWith("ended with exit code 4"));
}

}  // namespace
}  // namespace graphd::ctl
