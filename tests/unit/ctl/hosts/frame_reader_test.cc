// SPDX-License-Identifier: Apache-2.0
#include "ctl/hosts/frame_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "graphd/error.h"

namespace graphd::ctl {
namespace {

using ::testing::ElementsAre;

struct Collector {
  std::vector<std::string> seen;
  FrameReader reader{[this](const nlohmann::json& header, std::string payload) {
                       seen.push_back(header.value("t", "") + ":" + payload);
                     },
                     [this](const std::string& line) { seen.push_back("noise:" + line); }};
};

TEST(FrameReader, PayloadsArriveUnchangedInPiecesOfAnySize) {
  std::string payload("a\n\0{\"t\":\"x\"}\xff\n", 14);
  const std::string stream = EncodeFrame({{"t", "out"}}, payload) + EncodeFrame({{"t", "done"}}) +
                             EncodeFrame({{"t", "out"}}, std::string_view("", 0));
  for (size_t piece = 1; piece <= stream.size(); piece++) {
    Collector all;
    for (size_t i = 0; i < stream.size(); i += piece) all.reader.Feed(stream.substr(i, piece));
    EXPECT_THAT(all.seen, ElementsAre("out:" + payload, "done:", "out:"));
  }
}

TEST(FrameReader, LinesThatAreNotFramesAreNoise) {
  Collector all;
  all.reader.Feed("Welcome to host 3!\n[1,2]\n{\"a\":1}\n{\"t\":\"hello\"}\n");
  EXPECT_THAT(all.seen,
              ElementsAre("noise:Welcome to host 3!", "noise:[1,2]", "noise:{\"a\":1}", "hello:"));
}

// Functions that copy and print JSON call themselves for each level.
TEST(FrameReader, DeeplyNestedJsonIsPassedOnAsNoise) {
  const std::string deep = std::string(400'000, '[') + std::string(400'000, ']');
  std::string seen;
  FrameReader reader(
      [&](const nlohmann::json& header, const std::string&) { seen = header.dump(); },
      [&](const std::string&) { seen += "noise"; });
  reader.Feed("{\"t\":\"status\",\"status\":" + deep + "}\n");
  EXPECT_EQ(seen, "noise");
}

TEST(FrameReader, InvalidSizesAreAnErrorWithoutAnAllocation) {
  for (const char* size : {"99999999999999", "-1", "\"x\"", "1.5"}) {
    Collector all;
    EXPECT_THROW(all.reader.Feed(std::string("{\"t\":\"out\",\"n\":") + size + "}\n"), Error);
  }
}

TEST(FrameReader, AStreamWithoutLinesIsAnError) {
  Collector all;
  const std::string block(size_t{1} << 20, 'x');
  EXPECT_THROW(for (int i = 0; i < 4; i++) all.reader.Feed(block), Error);
}

}  // namespace
}  // namespace graphd::ctl
