// SPDX-License-Identifier: Apache-2.0
#include "base/failure.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <filesystem>
#include <new>
#include <system_error>

#include "graphd/error.h"

namespace graphd {
namespace {

template <class Exception>
Error ErrorOf(const Exception& thrown) {
  try {
    throw thrown;
  } catch (...) {
    return CurrentError();
  }
}

TEST(CurrentError, KeepsAnErrorAndClassifiesOtherExceptions) {
  const Error same = ErrorOf(Error(ErrorCode::kDenied, "no"));
  EXPECT_EQ(same.code(), ErrorCode::kDenied);
  EXPECT_STREQ(same.what(), "no");
  EXPECT_EQ(ErrorOf(std::bad_alloc()).code(), ErrorCode::kOverloaded);
  EXPECT_EQ(ErrorOf(std::system_error(EAGAIN, std::system_category())).code(),
            ErrorCode::kOverloaded);
  EXPECT_EQ(ErrorOf(std::system_error(EIO, std::generic_category())).code(), ErrorCode::kIo);
  const Error gone = ErrorOf(std::filesystem::filesystem_error(
      "rename", "/x", std::make_error_code(std::errc::no_such_file_or_directory)));
  EXPECT_EQ(gone.code(), ErrorCode::kNotFound);
  EXPECT_NE(std::string(gone.what()).find("/x"), std::string::npos);
  EXPECT_EQ(ErrorOf(std::logic_error("bug")).code(), ErrorCode::kInternal);
  EXPECT_EQ(ErrorOf(3).code(), ErrorCode::kInternal);
}

TEST(LogFailure, LogsWhatIsThrownAndReturnsFalse) {
  ::testing::internal::CaptureStderr();
  EXPECT_FALSE(LogFailure("a thread", [] { throw std::bad_alloc(); }));
  EXPECT_NE(::testing::internal::GetCapturedStderr().find("a thread: not enough memory"),
            std::string::npos);
  EXPECT_TRUE(LogFailure("a thread", [] {}));
}

}  // namespace
}  // namespace graphd
