// SPDX-License-Identifier: Apache-2.0
// Tests what graphd says about wrong configuration files, when it starts and with --check_config.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "base/file.h"
#include "tests/support/served_graph_fixture.h"

namespace graphd::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

class CheckConfigTest : public ::testing::Test {
 protected:
  // Runs graphd with a configuration file of this text and returns its output.
  std::string Run(const std::string& text, int code, std::vector<std::string> more = {}) {
    WriteFileAtomically(file_, text);
    ::unlink((scratch_ / "log").c_str());
    std::vector<std::string> arguments = {"--server_name", "s",           "--config",
                                          file_,           "--state_dir", scratch_ / "state"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    GraphdProcess process(std::move(arguments), scratch_ / "log");
    EXPECT_EQ(process.Wait(), code) << process.Log();
    return process.Log();
  }
  std::string Check(const std::string& text, int code) {
    return Run(text, code, {"--check_config"});
  }
  std::string Graph() const { return "part_config = \"" + graph_.part_config() + "\"\n"; }
  std::string Line(int number) const { return file_ + ":" + std::to_string(number) + ": "; }

  ScratchDirectory scratch_;
  const std::string file_ = scratch_ / "s.conf";
  const ServedGraphFixture graph_{std::vector<std::vector<int>>{}, 2};
};

TEST_F(CheckConfigTest, AValidFileIsSummarised) {
  EXPECT_THAT(Check(Graph() + "part_id = 1\nindex = [\"out:_E\"]\n", 0),
              HasSubstr("s.conf: ok, 's' serves 1 of 2 partitions of 'hubs'"));
  EXPECT_FALSE(FileExists(scratch_ / "state"));
}

TEST_F(CheckConfigTest, UnknownOptionsAreNamedWithTheirLineAndTheSimilarOne) {
  const std::string text = Graph() + "# a comment\npart_id = 0\nmax_conections = 3\n";
  for (const std::string& said : {Run(text, 2), Check(text, 2)}) {
    EXPECT_THAT(said, HasSubstr(Line(4) + "'max_conections' is not an option of graphd; did you "
                                          "mean max_connections?"));
  }
  EXPECT_THAT(
      Check(Graph() + "part_id = 0\nsomething = 3\n", 2),
      AllOf(HasSubstr(Line(3) + "'something' is not an option"), Not(HasSubstr("did you"))));
}

TEST_F(CheckConfigTest, WrongValuesAreNamedWithTheirLine) {
  EXPECT_THAT(Check(Graph() + "part_id = 0\nmax-connections = \"many\"\n", 2),
              HasSubstr(Line(3) + "--max_connections: "));
  EXPECT_THAT(Check(Graph() + "part_id = 0\n\npart_id 1\n", 2), HasSubstr(Line(4)));
}

TEST_F(CheckConfigTest, EveryProblemOfTheContentIsFound) {
  const std::string said = Check(
      "part_config = \"/none.json\"\npart_id = 0\nallow_read = [\"user:no-such-user\"]\n"
      "keys = \"/no/keys\"\nlisten = \"127.0.0.1:30050\"\n",
      3);
  EXPECT_THAT(said, HasSubstr(Line(1) + "part_config: "));
  EXPECT_THAT(said, HasSubstr(Line(3) + "allow_read: "));
  EXPECT_THAT(said, HasSubstr(Line(4) + "keys: "));
  EXPECT_THAT(Check(Graph() + "part_id = 7\n", 3), HasSubstr(Line(2) + "part_id: "));
  EXPECT_THAT(Check(Graph() + "part_id = 0\nindex = [\"out:none\"]\n", 3),
              HasSubstr(Line(3) + "index: "));
}

TEST_F(CheckConfigTest, AddressesThatWouldBeRefusedAreFound) {
  const std::string text = Graph() + "part_id = 0\nmetrics = \"0.0.0.0:9464\"\n";
  EXPECT_THAT(Check(text, 10), AllOf(HasSubstr(Line(3) + "metrics: "), HasSubstr("not encrypted")));
  Check(text + "metrics_insecure = true\n", 0);
  const std::string peers = Graph() + "part_id = 0\nmetrics = \"127.0.0.1:9464\"\nmetrics_peers = ";
  Check(peers + "[\"a:9464\", \"[::1]:9465\"]\n", 0);
  for (const char* bad : {"a", "a:0", "a:x", ":9464", "http://a:9464", "unix:/run/x:1", "*:9464"}) {
    EXPECT_THAT(Check(peers + "[\"b:1\", \"" + bad + "\"]\n", 2),
                AllOf(HasSubstr(Line(4) + "--metrics_peers: "), HasSubstr(bad)));
  }
  EXPECT_THAT(Check(Graph() + "part_id = 0\nlisten = \"127.0.0.1:99999\"\n", 2),
              HasSubstr(Line(3) + "--listen: port of"));
  EXPECT_THAT(Check(Graph() + "part_id = 0\nmetrics = \"31170\"\n", 2),
              HasSubstr(Line(3) + "--metrics: '31170' names no host; write host:port"));
}

TEST_F(CheckConfigTest, AFailureToStartIsShownAlsoIfTheLogIsAFile) {
  const std::string log = scratch_ / "daemon.log";
  const std::string text = Graph() + "part_id = 7\nlog_file = \"" + log + "\"\n";
  EXPECT_THAT(Run(text, 3), HasSubstr("graphd: "));
  EXPECT_TRUE(FileExists(log));
}

}  // namespace
}  // namespace graphd::testing
