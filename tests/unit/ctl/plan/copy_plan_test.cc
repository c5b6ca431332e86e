// SPDX-License-Identifier: Apache-2.0
#include "ctl/plan/copy_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "ctl/plan/relative_path.h"
#include "graphd/error.h"

namespace graphd::ctl {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

LocalFile File(const std::string& path, uint64_t size = 10) { return {path, size, 0644, {}}; }

// A graph in `parts` native partitions, an ip_config, and a script folder with one file.
CopySources Sources(size_t parts) {
  CopySources sources;
  sources.part_config = File("/here/out/g.json");
  sources.part_config_text = "{}";
  sources.ip_config = File("/here/ip.txt");
  for (size_t p = 0; p < parts; p++) {
    const std::string directory = "/here/out/part" + std::to_string(p);
    sources.parts.push_back({File(directory + "/partition.json"), File(directory + "/graph.seg")});
  }
  sources.script_folder = "/here/scripts/";
  sources.scripts.push_back({File("/here/scripts/a/train.py"), "a/train.py"});
  return sources;
}

CopyPlan PlanOf(const std::string& ip_config, const CopySources& sources,
                const std::string& data = "data") {
  return MakeCopyPlan("/ws", data, sources, ParseIpConfig(ip_config, "ip.txt"),
                      [](const std::string& address) { return address.rfind("127.", 0) == 0; });
}

std::vector<std::string> TargetsOf(const CopyPlan& plan, size_t host) {
  std::vector<std::string> targets;
  for (size_t file : plan.hosts[host].files) targets.push_back(plan.files[file].target);
  return targets;
}

std::string ErrorOf(const std::string& ip_config, const CopySources& sources,
                    const std::string& data = "data") {
  try {
    PlanOf(ip_config, sources, data);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kInvalid);
    return error.what();
  }
  return "";
}

TEST(CopyPlan, EachMachineGetsItsPartitionAndTheCommonFilesAndThePartConfigLast) {
  const CopyPlan plan = PlanOf("10.0.0.1 30050\n10.0.0.2\t 30050\n", Sources(2));
  ASSERT_EQ(plan.hosts.size(), 2u);
  EXPECT_FALSE(plan.hosts[0].is_local);
  EXPECT_THAT(TargetsOf(plan, 0), ElementsAre("data/part0/partition.json", "data/part0/graph.seg",
                                              "scripts/a/train.py", "ip.txt", "data/g.json"));
  EXPECT_THAT(TargetsOf(plan, 1), ElementsAre("data/part1/partition.json", "data/part1/graph.seg",
                                              "scripts/a/train.py", "ip.txt", "data/g.json"));
  EXPECT_EQ(plan.hosts[1].bytes, 42u);  // the part config is "{}"
}

TEST(CopyPlan, LinesOfOneMachineAndAllLocalLinesAreOneHostEach) {
  const CopyPlan plan = PlanOf("127.0.0.1\n10.0.0.1 1\n10.0.0.1 2\n127.0.0.2\n", Sources(4));
  ASSERT_EQ(plan.hosts.size(), 2u);
  EXPECT_TRUE(plan.hosts[0].is_local);
  EXPECT_THAT(plan.hosts[0].parts, ElementsAre(0, 3));
  EXPECT_THAT(plan.hosts[1].parts, ElementsAre(1, 2));
  EXPECT_EQ(plan.hosts[1].address, "10.0.0.1");
}

TEST(CopyPlan, MachinesThatOnlyComputeGetTheCommonFilesAlone) {
  const auto plan_with = [](const std::string& trainer_hosts) {
    return MakeCopyPlan(
        "/ws", "data", Sources(2), ParseIpConfig("10.0.0.1\n127.0.0.1\n", "ip.txt"),
        [](const std::string& address) { return address.rfind("127.", 0) == 0; },
        ParseTrainerHosts(trainer_hosts, "gpus.txt"));
  };
  const CopyPlan plan = plan_with("10.0.0.8 4\n");
  ASSERT_EQ(plan.hosts.size(), 3u);
  EXPECT_EQ(plan.hosts[2].address, "10.0.0.8");
  EXPECT_THAT(plan.hosts[2].parts, IsEmpty());
  EXPECT_THAT(TargetsOf(plan, 2), ElementsAre("scripts/a/train.py", "ip.txt", "data/g.json"));
  for (const char* twice : {"10.0.0.1\n", "127.0.0.2\n"}) {
    EXPECT_THROW(plan_with(twice), Error) << twice;
  }
}

TEST(CopyPlan, MapsAreStoredBesideThePartConfigEvenInTheWorkspaceItself) {
  CopySources sources = Sources(1);
  sources.maps = {File("/old/node_map.npy")};
  EXPECT_THAT(TargetsOf(PlanOf("h\n", sources, "."), 0),
              ElementsAre("part0/partition.json", "part0/graph.seg", "node_map.npy",
                          "scripts/a/train.py", "ip.txt", "g.json"));
}

TEST(CopyPlan, NodeNamesAreStoredBesideThePartConfigOnEveryMachine) {
  CopySources sources = Sources(2);
  sources.names = {File("/here/out/g.user.ids.txt.gz")};
  const CopyPlan plan = PlanOf("10.0.0.1\n10.0.0.2\n", sources);
  for (size_t host : {0u, 1u}) {
    const std::string part = "data/part" + std::to_string(host);
    EXPECT_THAT(TargetsOf(plan, host),
                ElementsAre(part + "/partition.json", part + "/graph.seg", "data/g.user.ids.txt.gz",
                            "scripts/a/train.py", "ip.txt", "data/g.json"));
  }
}

TEST(CopyPlan, DifferentNumbersOfLinesAndPartitionsAreRejectedWithBothNumbers) {
  EXPECT_THAT(ErrorOf("a\nb\nc\n", Sources(2)),
              AllOf(HasSubstr("3 lines"), HasSubstr("2 partitions"), HasSubstr("/here/ip.txt")));
}

TEST(CopyPlan, TwoFilesWithOnePathAreRejectedWithBothNames) {
  CopySources sources = Sources(1);
  sources.ip_config = File("/here/g.json");
  EXPECT_THAT(ErrorOf("a\n", sources, "."),
              AllOf(HasSubstr("/here/g.json"), HasSubstr("/here/out/g.json")));
  sources.ip_config = File("/here/data");
  EXPECT_THAT(ErrorOf("a\n", sources), HasSubstr("/here/data would be copied to data"));
}

TEST(CopyPlan, NamesOfPartialFilesAreRejected) {
  CopySources sources = Sources(1);
  sources.scripts.push_back({File("/here/scripts/.x.partial"), ".x.partial"});
  sources.scripts.push_back({File("/here/scripts/a/x"), "a/x"});
  EXPECT_EQ(ErrorOf("127.0.0.1\n", sources), "");
  sources.scripts.push_back({File("/here/scripts/x"), "x"});
  EXPECT_THAT(ErrorOf("127.0.0.1\n", sources),
              HasSubstr("/here/scripts/.x.partial has the name that /here/scripts/x has"));
}

TEST(CopyPlan, NamesThatCannotBeSentAreRejected) {
  CopySources sources = Sources(1);
  sources.scripts.push_back({File("/here/scripts/long"), std::string(246, 'n')});
  EXPECT_EQ(ErrorOf("127.0.0.1\n", sources), "");
  sources.scripts.back().relative += 'n';
  EXPECT_THAT(ErrorOf("127.0.0.1\n", sources), HasSubstr("more than 246 bytes"));
  sources.scripts.back().relative = "\xff.py";
  EXPECT_THAT(ErrorOf("127.0.0.1\n", sources), HasSubstr("UTF-8"));
  EXPECT_THAT(ErrorOf("127.0.0.1\n", Sources(1), "data\xff"), HasSubstr("UTF-8"));
  EXPECT_THROW(MakeCopyPlan("/ws\xff", "data", Sources(1), ParseIpConfig("127.0.0.1\n", "ip.txt"),
                            [](const std::string&) { return true; }),
               Error);
}

TEST(CopyPlan, DataDirectoriesOutsideTheWorkspaceAreRejected) {
  for (const char* data : {"/data", "..", "a/../../b", "a/.."}) {
    EXPECT_THAT(ErrorOf("a\n", Sources(1), data), HasSubstr("--rel_data_path")) << data;
  }
}

TEST(CopyPlan, ShowsSourcesAndTargets) {
  const CopyPlan plan = PlanOf("127.0.0.1\n", Sources(1));
  EXPECT_THAT(CopyPlanToText(plan),
              AllOf(HasSubstr("127.0.0.1 (this machine): 5 files, 42 B"),
                    HasSubstr("/here/out/g.json (rewritten) -> /ws/data/g.json")));
  const auto json = nlohmann::json::parse(CopyPlanToJson(plan));
  EXPECT_EQ(json["hosts"][0]["files"][3]["target"], "/ws/ip.txt");
}

TEST(RelativePath, StepsOmitEmptyAndDotComponents) {
  EXPECT_THAT(PathSteps("./a//b/./c/", "x"), ElementsAre("a", "b", "c"));
  EXPECT_THAT(PathSteps(".", "x"), IsEmpty());
  EXPECT_EQ(CleanRelativePath("./a//b/", "x"), "a/b");
}

TEST(RelativePath, PathsThatLeaveTheDirectoryOrAreInvalidAreRejected) {
  const std::string zero("a\0b", 3), long_name(300, 'x'), long_path(5000, '/');
  for (const std::string& path : {std::string("/a"), std::string("a/../b"), std::string(".."), zero,
                                  long_name, "a" + long_path}) {
    EXPECT_THROW(PathSteps(path, "x"), Error) << path;
  }
}

TEST(RelativePath, BaseNamesIgnoreSlashesAtTheEnd) {
  EXPECT_EQ(BaseName("/a/b/"), "b");
  EXPECT_EQ(BaseName("b"), "b");
  EXPECT_EQ(BaseName("/"), "");
  EXPECT_EQ(BaseName(""), "");
}

TEST(PartConfigRewriting, AllPathsBecomeRelativeToTheConfig) {
  const std::string text = R"({"graph_name": "g", "num_parts": 2, "zeta": 1.5, "alpha": 0,
    "part-0": {"part_graph": "/abs/x/part0/graph.dgl", "node_feats": "data/part0/node_feat.dgl",
               "part_graph_graphbolt": "part0/fused.pt"},
    "part-1": {"part_graph": "part1/graph.dgl"}})";
  const std::string rewritten = RewritePartConfig(text, "g.json", "/ws/data");
  const auto json = nlohmann::ordered_json::parse(rewritten);
  EXPECT_EQ(json["part-0"]["part_graph"], "part0/graph.dgl");
  EXPECT_EQ(json["part-0"]["node_feats"], "part0/node_feat.dgl");
  EXPECT_EQ(json["part-0"]["part_graph_graphbolt"], "part0/fused.pt");
  EXPECT_EQ(json["part-1"]["part_graph"], "part1/graph.dgl");
  EXPECT_LT(rewritten.find("zeta"), rewritten.find("alpha")) << "keys keep their order";
  EXPECT_EQ(RewritePartConfig(rewritten, "g.json", "/ws/data"), rewritten);
}

TEST(PartConfigRewriting, ACorrectConfigIsUnchangedByteForByte) {
  const std::string text = "{\"part-0\":   {\"part_graph\":\"part0/graph.seg\"}}";
  EXPECT_EQ(RewritePartConfig(text, "g.json", "/ws"), text);
}

TEST(PartConfigRewriting, MapsBecomeAbsoluteBecauseDglOpensTheirPathsUnchanged) {
  const auto json = nlohmann::json::parse(
      RewritePartConfig(R"({"node_map": "/tmp/n/node_map.npy", "edge_map": {"_E": [[0, 1]]}})",
                        "g.json", "/ws/data"));
  EXPECT_EQ(json["node_map"], "/ws/data/node_map.npy");
  EXPECT_TRUE(json["edge_map"].is_object());
}

TEST(PartConfigRewriting, TextThatIsNotAJsonObjectIsRejected) {
  for (const char* text : {"", "[1]", "{\"a\":"}) {
    EXPECT_THROW(RewritePartConfig(text, "g.json", "/ws"), Error) << text;
  }
}

}  // namespace
}  // namespace graphd::ctl
