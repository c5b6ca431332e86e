// SPDX-License-Identifier: Apache-2.0
#include "ctl/verbs/host_options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>

#include "base/file.h"
#include "ctl/hosts/frame_reader.h"
#include "tests/support/error_of.h"
#include "tests/unit/format/scratch_directory.h"

namespace graphd::ctl {
namespace {

using graphd::testing::ErrorOf;
using graphd::testing::ScratchDirectory;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;
using ::testing::UnorderedElementsAre;

// Works in a directory that has the folder `workspace`.
class ResolveTest : public ::testing::Test {
 protected:
  ResolveTest() {
    ::unsetenv("GRAPHD_RUNTIME_DIR");
    std::filesystem::create_directory(workspace_);
    std::filesystem::current_path(scratch_.path());
    options_.server.server_name = "products";
    options_.workspace = "workspace";
  }
  ~ResolveTest() override { std::filesystem::current_path(before_); }
  void Write(const std::string& name, const std::string& text) {
    WriteFileAtomically(scratch_ / name, text);
  }
  const std::filesystem::path before_ = std::filesystem::current_path();
  ScratchDirectory scratch_;
  const std::string workspace_ = scratch_ / "workspace";
  HostOptions options_;
};

TEST_F(ResolveTest, FilesAreLookedForInTheWorkspaceFirst) {
  Write("ip.txt", "10.0.0.1\n");
  options_.ip_config = "ip.txt";
  Resolve(options_);
  EXPECT_EQ(options_.lines.at(0).address, "10.0.0.1");
  EXPECT_EQ(options_.ip_config, scratch_ / "ip.txt");

  Write("workspace/ip.txt", "10.0.0.2 30100\n10.0.0.3\n");
  options_.ip_config = "ip.txt";
  Resolve(options_);
  ASSERT_EQ(options_.lines.size(), 2U);
  EXPECT_EQ(options_.lines[0].address, "10.0.0.2");
  EXPECT_EQ(options_.ip_config, workspace_ + "/ip.txt");
}

TEST_F(ResolveTest, AMissingFileIsToldWithAllPlaces) {
  options_.ip_config = "none.txt";
  EXPECT_EQ(ErrorOf([&] { Resolve(options_); }),
            "not_found: ip_config none.txt does not exist (looked for " + workspace_ +
                "/none.txt and " + (scratch_ / "none.txt") +
                "); it must have a line 'address [port [trainers]]' for each partition");
  options_.ip_config = "/none.txt";
  EXPECT_THAT(ErrorOf([&] { Resolve(options_); }), HasSubstr("(looked for /none.txt); it must"));
  options_.ip_config.clear();
  options_.trainer_hosts = "gpus.txt";
  EXPECT_THAT(ErrorOf([&] { Resolve(options_); }),
              StartsWith("not_found: --trainer_hosts gpus.txt does not exist"));
}

TEST_F(ResolveTest, ALineThatIsNoHostIsNamedWithItsFile) {
  Write("ip.txt", "10.0.0.1\n10.0.0.2 99999\n");
  options_.ip_config = "ip.txt";
  EXPECT_THAT(ErrorOf([&] { Resolve(options_); }),
              AllOf(StartsWith("invalid: "), HasSubstr(scratch_ / "ip.txt"), HasSubstr("99999")));
}

TEST_F(ResolveTest, PathsBecomeAbsoluteAndDefaultsStay) {
  ServerSpec& server = options_.server;
  options_.workspace = "workspace/x/../";
  server.state_dir = "state";
  server.keys = "default";
  server.secret = "secret.key";
  server.part_config = "graph.json";  // it may be there on other hosts only
  Resolve(options_);
  EXPECT_EQ(options_.workspace, workspace_);
  EXPECT_EQ(server.state_dir, scratch_ / "state");
  EXPECT_EQ(server.keys, "default");
  EXPECT_EQ(server.secret, scratch_ / "secret.key");
  EXPECT_EQ(server.runtime_dir, "");
  EXPECT_EQ(server.graphd, "");
  EXPECT_EQ(server.part_config, workspace_ + "/graph.json");
}

TEST_F(ResolveTest, APartConfigThatOnlyTheWorkingDirectoryHasIsUsed) {
  Write("graph.json", "{}");
  options_.server.part_config = "graph.json";
  Resolve(options_);
  EXPECT_EQ(options_.server.part_config, scratch_ / "graph.json");
  Write("workspace/graph.json", "{}");
  options_.server.part_config = "graph.json";
  Resolve(options_);
  EXPECT_EQ(options_.server.part_config, workspace_ + "/graph.json");
}

TEST_F(ResolveTest, AServerNameThatIsNoneIsRefused) {
  options_.server.server_name = "../other";
  EXPECT_THAT(ErrorOf([&] { Resolve(options_); }),
              AllOf(StartsWith("invalid: "), HasSubstr("../other")));
}

// Each host is this machine; programs of the shell stand for graphctl there.
class AskHostsTest : public ::testing::Test {
 protected:
  // Returns what AskHosts says of hosts whose graphctl writes these frames and then ends.
  HostAnswer Ask(const std::string& frames) {
    WriteFileAtomically(scratch_ / "frames", frames);
    WriteFileAtomically(scratch_ / "graphctl",
                        "#!/bin/sh\nread order\ncat '" + (scratch_ / "frames") + "'\n");
    std::filesystem::permissions(scratch_ / "graphctl", std::filesystem::perms::owner_all);
    HostOptions options;
    options.own_path = scratch_ / "graphctl";
    HostPlan host;
    host.is_local = true;
    const std::vector<HostAnswer> answers =
        AskHosts({host, host}, options,
                 [this](size_t at, const nlohmann::json&) { progress_.push_back(at); });
    EXPECT_EQ(answers.size(), 2U);
    EXPECT_EQ(answers.at(0).error, answers.at(1).error);
    return answers.at(0);
  }
  ScratchDirectory scratch_;
  std::vector<size_t> progress_;  // the hosts that have sent a frame of it
};

const std::string kHello = EncodeFrame({{"t", "hello"}, {"version", GRAPHD_VERSION}});
const std::string kDone = EncodeFrame({{"t", "done"}});

TEST_F(AskHostsTest, AnAnswerHasTheFramesOfItsHost) {
  const HostAnswer answer = Ask(kHello + EncodeFrame({{"t", "progress"}, {"done", 1}}) +
                                EncodeFrame({{"t", "status"}, {"nodes", 7}}) + kDone);
  EXPECT_TRUE(answer.ok) << answer.error;
  ASSERT_EQ(answer.frames.size(), 1U);
  EXPECT_EQ(answer.frames[0]["nodes"], 7);
  EXPECT_THAT(progress_, UnorderedElementsAre(0, 1));
}

TEST_F(AskHostsTest, AHostWithoutAnAnswerIsAnError) {
  for (const std::string& frames :
       {std::string(), kHello, EncodeFrame({{"t", "status"}}), kDone.substr(0, kDone.size() / 2)}) {
    const HostAnswer answer = Ask(frames);
    EXPECT_FALSE(answer.ok) << frames;
    EXPECT_NE(answer.error, "") << frames;
  }
}

TEST_F(AskHostsTest, AnErrorKeepsItsCodeAlsoIfTheHostIsDone) {
  const HostAnswer answer = Ask(
      kHello + EncodeFrame({{"t", "error"}, {"code", "denied"}, {"text", "not yours"}}) + kDone);
  EXPECT_FALSE(answer.ok);
  EXPECT_EQ(answer.code, ErrorCode::kDenied);
  EXPECT_EQ(answer.error, "not yours");
}

TEST_F(AskHostsTest, AnotherVersionIsAnErrorThatNamesBoth) {
  const HostAnswer answer = Ask(EncodeFrame({{"t", "hello"}, {"version", "0.0.1"}}) + kDone);
  EXPECT_FALSE(answer.ok);
  EXPECT_EQ(answer.code, ErrorCode::kVersion);
  EXPECT_THAT(answer.error, AllOf(HasSubstr("graphctl 0.0.1"), HasSubstr(GRAPHD_VERSION)));
}

}  // namespace
}  // namespace graphd::ctl
