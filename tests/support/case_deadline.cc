// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

// Linked to test programs with a sanitizer, where one test of ctest runs many cases: names the case
// that takes too long, and ends the program, before ctest would end it without a word.

namespace graphd::testing {
namespace {

constexpr unsigned kSeconds = 500;
char message[400];

class CaseDeadline final : public ::testing::EmptyTestEventListener {
 public:
  CaseDeadline() { ::signal(SIGALRM, &CaseDeadline::OnAlarm); }
  void OnTestStart(const ::testing::TestInfo& test) override {
    std::snprintf(message, sizeof message, "\n%s.%s has not ended within %u s\n",
                  test.test_suite_name(), test.name(), kSeconds);
    ::alarm(kSeconds);
  }
  void OnTestEnd(const ::testing::TestInfo&) override { ::alarm(0); }

 private:
  static void OnAlarm(int) {
    [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, message, std::strlen(message));
    std::abort();
  }
};

[[maybe_unused]] const bool is_listening = [] {
  ::testing::UnitTest::GetInstance()->listeners().Append(new CaseDeadline);
  return true;
}();

}  // namespace
}  // namespace graphd::testing
