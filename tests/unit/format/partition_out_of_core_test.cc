// SPDX-License-Identifier: Apache-2.0
#include "format/partition_out_of_core.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "base/file.h"
#include "files_below.h"
#include "format/input/graph_files.h"
#include "raw_graph_samples.h"

namespace graphd {
namespace {

namespace fs = std::filesystem;
using testing::FilesBelow;
using ::testing::HasSubstr;
using testing::HomogeneousGraph;
using testing::RandomMultigraph;
using testing::ScratchDirectory;
using testing::TypedGraph;

constexpr uint64_t kMemory = uint64_t{128} << 20;

PartitionOptions Options(const std::string& output, int32_t parts, PartMethod method) {
  PartitionOptions options;
  options.graph_name = "g";
  options.num_parts = parts;
  options.method = method;
  options.seed = 17;
  options.output = output;
  return options;
}

GraphSource SourceOf(const RawGraph& graph) {
  return {.describe =
              [] {
                return nlohmann::ordered_json{{"graph", 1}};
              },
          .read = [&](SpillFiles&, const StepProgress&) { return graph; }};
}

void ExpectSameFiles(const std::string& expected, const std::string& found) {
  const auto a = FilesBelow(expected), b = FilesBelow(found);
  EXPECT_EQ(a.size(), b.size());
  for (const auto& [name, bytes] : a) {
    ASSERT_TRUE(b.contains(name)) << name;
    EXPECT_TRUE(b.at(name) == bytes) << name;
  }
}

void ExpectSamePartitions(const RawGraph& graph, PartitionOptions options) {
  const ScratchDirectory directory;
  options.output = directory / "in_memory";
  const PartitionSummary expected = PartitionGraph(graph, options);
  options.output = directory / "out_of_core";
  const PartitionSummary found = PartitionOutOfCore(SourceOf(graph), options, kMemory);
  ExpectSameFiles(directory / "in_memory", directory / "out_of_core");
  EXPECT_EQ(found.edge_cut, expected.edge_cut);
  EXPECT_EQ(found.bytes, expected.bytes);
  EXPECT_EQ(found.part_config, directory / "out_of_core/g.json");
  EXPECT_EQ(found.classes.size(), expected.classes.size());
}

class OutOfCore : public ::testing::TestWithParam<PartMethod> {};

TEST_P(OutOfCore, WritesTheSameBytesAsInMemory) {
  for (const int32_t parts : {1, 3, 8}) {
    const PartitionOptions options = Options("", parts, GetParam());
    ExpectSamePartitions(HomogeneousGraph(300, RandomMultigraph(300, 2500, 5)), options);
    ExpectSamePartitions(HomogeneousGraph(200, RandomMultigraph(200, 900, 6), true), options);
    ExpectSamePartitions(TypedGraph(70, 110, 7), options);
  }
}

TEST_P(OutOfCore, TakesGraphsWithoutEdgesAndOfOneNode) {
  const PartitionOptions options = Options("", 3, GetParam());
  ExpectSamePartitions(HomogeneousGraph(10, {}), options);
  ExpectSamePartitions(HomogeneousGraph(1, {{0, 0}, {0, 0}}), options);
}

INSTANTIATE_TEST_SUITE_P(Methods, OutOfCore,
                         ::testing::Values(PartMethod::kRandom, PartMethod::kLdg,
                                           PartMethod::kFennel, PartMethod::kMetis),
                         [](const auto& info) { return PartMethodName(info.param); });

TEST(OutOfCore, TakesTheOptionsOfStorageAndBalance) {
  PartitionOptions options = Options("", 3, PartMethod::kFennel);
  options.storage.edge_orig_id = false;
  options.storage.store_as = {"feat=float16", "weight=int8"};
  options.balance_ntypes = {"label"};
  options.balance_edges = true;
  RawGraph graph = HomogeneousGraph(300, RandomMultigraph(300, 2500, 5));
  for (int64_t& label : graph.nodes[0].features[1].values.as<int64_t>()) label %= 3;
  ExpectSamePartitions(graph, options);
}

TEST(OutOfCore, TakesAnAssignmentFromAFile) {
  const ScratchDirectory directory;
  std::string text;
  for (int i = 0; i < 300; i++) text += std::to_string(i * i % 4) + "\n";
  WriteFileAtomically(directory / "parts.txt", text);
  PartitionOptions options = Options("", 4, PartMethod::kFile);
  options.assignment = {directory / "parts.txt"};
  ExpectSamePartitions(HomogeneousGraph(300, RandomMultigraph(300, 2500, 5)), options);
}

TEST(OutOfCore, WritesTheTextsOfLabels) {
  RawGraph graph = HomogeneousGraph(300, RandomMultigraph(300, 2500, 5));
  const auto labels = std::make_shared<NameTable>();
  for (const char* text : {"paper", "book", "map"}) labels->Add(text);
  graph.nodes[0].features[1].labels = labels;
  graph.edges[0].features[0].labels = labels;
  const PartitionOptions options = Options("", 3, PartMethod::kRandom);
  ExpectSamePartitions(graph, options);
  const ScratchDirectory directory;
  PartitionOptions here = options;
  here.output = directory.path();
  const PartitionSummary summary = PartitionOutOfCore(SourceOf(graph), here, kMemory);
  ASSERT_EQ(summary.label_texts.size(), 2u);
  for (const std::string& path : summary.label_texts) EXPECT_TRUE(FileExists(path)) << path;
}

TEST(OutOfCore, ReadsTablesThroughFiles) {
  const ScratchDirectory directory;
  {
    std::ofstream edges(directory / "edges.csv"), nodes(directory / "nodes.csv");
    edges << "src,dst,since,weight\n";
    nodes << "id,feat.0,feat.1,label\n";
    // A file of more than 256 KiB per column moves to the disk; the first number that is not a
    // whole one comes late.
    for (int i = 0; i < 60000; i++) {
      edges << "n" << i * 7 % 5000 << ",n" << int64_t{i} * i % 5000 << ',' << i << ',' << i
            << (i == 50000 ? ".5" : "") << '\n';
    }
    for (int i = 0; i < 5000; i++)
      nodes << 'n' << i << ',' << i << ".25," << -i << ',' << i % 9 << '\n';
  }
  GraphFilesOptions files;
  files.edges = {ParseEdgeFile(directory / "edges.csv")};
  files.nodes = {ParseNodeFile(directory / "nodes.csv")};
  PartitionOptions options = Options(directory / "in_memory", 3, PartMethod::kRandom);
  PartitionGraph(ReadGraphFiles(files), options);
  options.output = directory / "out_of_core";
  bool spilled = false;
  const GraphSource source{.describe = [] { return nlohmann::ordered_json(); },
                           .read =
                               [&](SpillFiles& spill, const StepProgress&) {
                                 files.spill = &spill;
                                 RawGraph graph = ReadGraphFiles(files);
                                 spilled =
                                     spill.Find(graph.edges[0].features[0].values).has_value();
                                 return graph;
                               }};
  PartitionOutOfCore(source, options, kMemory);
  EXPECT_TRUE(spilled);
  ExpectSameFiles(directory / "in_memory", directory / "out_of_core");
}

// A run that ends with an exception at some report of progress, as if it was killed.
TEST(OutOfCore, ContinuesAfterEveryStep) {
  const ScratchDirectory directory;
  const RawGraph graph = HomogeneousGraph(300, RandomMultigraph(300, 2500, 5));
  PartitionOptions options = Options(directory / "in_memory", 3, PartMethod::kLdg);
  PartitionGraph(graph, options);
  options.output = directory / "out_of_core";
  std::vector<std::string> steps;
  int reads = 0;
  const GraphSource source{.describe = [] { return nlohmann::ordered_json(); },
                           .read =
                               [&](SpillFiles&, const StepProgress&) {
                                 reads++;
                                 return graph;
                               }};
  int runs = 0;
  for (bool done = false; !done; runs++) {
    ASSERT_LT(runs, 100);
    int reports = 0;
    options.progress = [&](const std::string& step, uint64_t, uint64_t) {
      if (steps.empty() || steps.back() != step) steps.push_back(step);
      // Each run gets a little further than the previous one.
      if (++reports > runs) throw std::runtime_error("stopped");
    };
    try {
      PartitionOutOfCore(source, options, kMemory);
      done = true;
    } catch (const std::runtime_error& error) {
      if (std::string(error.what()) != "stopped") throw;
      EXPECT_FALSE(FileExists(directory / "out_of_core/g.json"));
    }
  }
  EXPECT_GT(runs, 5);
  EXPECT_EQ(reads, 1);
  EXPECT_THAT(steps, ::testing::Contains("waiting for the disk"));
  ExpectSameFiles(directory / "in_memory", directory / "out_of_core");
}

TEST(OutOfCore, ContinuesInAnotherDirectoryWithoutOldFiles) {
  const ScratchDirectory directory;
  const RawGraph graph = HomogeneousGraph(300, RandomMultigraph(300, 2500, 5));
  PartitionOptions options = Options(directory / "in_memory", 3, PartMethod::kLdg);
  PartitionGraph(graph, options);
  const std::string old = directory / "out_of_core/g.partitioning/data77";
  const fs::path before = fs::current_path();
  fs::current_path(directory.path());
  options.output = "out_of_core";
  options.progress = [&](const std::string& step, uint64_t, uint64_t) {
    if (step == "distributing edges") throw std::runtime_error("stopped");
  };
  EXPECT_THROW(PartitionOutOfCore(SourceOf(graph), options, kMemory), std::runtime_error);
  fs::current_path(before);
  WriteFileAtomically(old, "left by a run that was killed");
  options.output = directory / "out_of_core";
  int reports = 0;
  options.progress = [&](const std::string&, uint64_t, uint64_t) {
    reports++;
    EXPECT_FALSE(FileExists(old));
  };
  const GraphSource no_other{.describe = SourceOf(graph).describe,
                             .read = [](SpillFiles&, const StepProgress&) -> RawGraph {
                               throw std::runtime_error("the graph is read again");
                             }};
  PartitionOutOfCore(no_other, options, kMemory);
  EXPECT_GT(reports, 0);
  ExpectSameFiles(directory / "in_memory", directory / "out_of_core");
}

TEST(OutOfCore, StartsAgainAfterARestartOfTheMachine) {
  const ScratchDirectory directory;
  const RawGraph graph = HomogeneousGraph(300, RandomMultigraph(300, 2500, 5));
  PartitionOptions options = Options(directory / "in_memory", 3, PartMethod::kLdg);
  PartitionGraph(graph, options);
  options.output = directory / "out_of_core";
  const std::string key_path = directory / "out_of_core/g.partitioning/key.json";
  // It stops when the output has been cleared and, the second time, before.
  for (const std::string stop : {"waiting for the disk", "distributing edges"}) {
    options.progress = [&](const std::string& step, uint64_t, uint64_t) {
      if (step == stop) throw std::runtime_error("stopped");
    };
    EXPECT_THROW(PartitionOutOfCore(SourceOf(graph), options, kMemory), std::runtime_error);
    auto key = nlohmann::ordered_json::parse(ReadTextFile(key_path));
    key["the machine's start"] = "another time";
    WriteFileAtomically(key_path, key.dump());
  }
  options.progress = {};
  bool read = false;
  const GraphSource source{.describe = SourceOf(graph).describe,
                           .read = [&](SpillFiles&, const StepProgress&) {
                             read = true;
                             return graph;
                           }};
  PartitionOutOfCore(source, options, kMemory);
  EXPECT_TRUE(read);
  ExpectSameFiles(directory / "in_memory", directory / "out_of_core");
}

std::string FailureOf(const PartitionOptions& options, uint64_t memory, ErrorCode code) {
  const RawGraph graph = HomogeneousGraph(300, RandomMultigraph(300, 2500, 5));
  try {
    PartitionOutOfCore(SourceOf(graph), options, memory);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), code);
    return error.what();
  }
  return "no error";
}

TEST(OutOfCore, SaysWhatItNeeds) {
  const ScratchDirectory directory;
  PartitionOptions options = Options(directory / "out", 3, PartMethod::kRandom);
  EXPECT_THAT(FailureOf(options, 1 << 20, ErrorCode::kOverloaded), HasSubstr("give at least"));
  options.format = PartFormat::kDgl;
  EXPECT_THAT(FailureOf(options, kMemory, ErrorCode::kInvalid), HasSubstr("--format native"));
  options.format = PartFormat::kNative;
  options.num_trainers_per_machine = 2;
  EXPECT_THAT(FailureOf(options, kMemory, ErrorCode::kInvalid), HasSubstr("--num_trainers"));
  EXPECT_FALSE(FileExists(directory / "out"));
}

TEST(OutOfCore, SaysWhatTheNodesOfAGraphNeed) {
  const ScratchDirectory directory;
  RawGraph graph = HomogeneousGraph(10, {});
  graph.nodes[0].features.clear();
  graph.nodes[0].count = 20'000'000;
  PartitionOptions options = Options(directory / "out", 3, PartMethod::kRandom);
  try {
    PartitionOutOfCore(SourceOf(graph), options, kMemory);
    FAIL() << "too little memory was enough";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kOverloaded);
    EXPECT_THAT(error.what(), ::testing::MatchesRegex(".*give at least 2[0-9][0-9]M"));
  }
}

TEST(OutOfCore, KeepsAGraphUnlessForced) {
  const ScratchDirectory directory;
  PartitionOptions options = Options(directory / "out", 3, PartMethod::kRandom);
  const RawGraph graph = HomogeneousGraph(300, RandomMultigraph(300, 2500, 5));
  PartitionOutOfCore(SourceOf(graph), options, kMemory);
  EXPECT_THAT(FailureOf(options, kMemory, ErrorCode::kExists), HasSubstr("--force"));
  options.force = true;
  options.num_parts = 2;
  PartitionOutOfCore(SourceOf(graph), options, kMemory);
  EXPECT_FALSE(FileExists(directory / "out/part2"));
}

}  // namespace
}  // namespace graphd
