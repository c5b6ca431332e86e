// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <gtest/gtest.h>

#include <functional>
#include <string>

#include "base/file.h"
#include "base/strings.h"
#include "tests/support/answer_proxy.h"
#include "tests/support/served_graph_fixture.h"
#include "tests/unit/format/scratch_directory.h"

namespace graphd::testing {

// A daemon with both partitions of the graph of hubs, and a proxy through which clients reach it.
class BehindProxy : public ::testing::Test {
 protected:
  BehindProxy() {
    const std::string line = StrCat("127.0.0.1 ", proxy_.port(), "\n");
    WriteFileAtomically(scratch_ / "ip_config.txt", line + line);
  }
  // Returns the options of a trainer that reaches the daemon through the proxy.
  Options ProxiedOptions(int rank = 0, int world_size = 1) const {
    Options options = served_.TrainerOptions(Transport::kTcp, rank, world_size);
    options.ip_config = scratch_ / "ip_config.txt";
    return options;
  }
  // Returns the bytes of numbers, as they are in messages.
  template <class T>
  static std::string Bytes(const std::vector<T>& numbers) {
    return {reinterpret_cast<const char*>(numbers.data()), numbers.size() * sizeof(T)};
  }

  // Calls f and returns the text of its error, whose code has to be kCorrupt.
  static std::string Corrupt(const std::function<void()>& f) {
    try {
      f();
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kCorrupt) << error.what();
      return error.what();
    }
    return "no error";
  }

  ServedGraphFixture served_{std::vector<std::vector<int>>{{0, 1}}};
  AnswerProxy proxy_{served_.port(0)};
  ScratchDirectory scratch_;
};

}  // namespace graphd::testing
