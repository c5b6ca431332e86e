// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <xxhash.h>

#include <cstring>
#include <functional>
#include <nlohmann/json.hpp>

#include "base/rng.h"
#include "base/strings.h"
#include "format/load_part_config.h"
#include "format/native/load_partition.h"
#include "format/partitioner.h"
#include "format/verify.h"
#include "tests/unit/format/raw_graph_samples.h"
#include "tests/unit/format/text_files.h"

// Tests the errors of readers and verifier for damaged native partitions.

namespace graphd {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;
using testing::HomogeneousGraph;
using testing::RandomMultigraph;
using testing::ReadBytes;
using testing::ScratchDirectory;
using testing::WriteText;

class NativeDamage : public ::testing::Test {
 protected:
  void SetUp() override { Partition(HomogeneousGraph(300, RandomMultigraph(300, 3000, 3))); }

  void Partition(const RawGraph& graph) const {
    PartitionOptions options;
    options.graph_name = "g";
    options.num_parts = 2;
    options.method = PartMethod::kRandom;
    options.output = directory_.path();
    options.force = true;
    PartitionGraph(graph, options);
  }

  std::string File(const std::string& name) const { return directory_ / ("part1/" + name); }
  json Header() const { return json::parse(ReadBytes(File("partition.json"))); }
  void WriteHeader(const json& header) const { WriteText(File("partition.json"), header.dump()); }

  // Returns the header's entry of an array and its segment's file name.
  static std::pair<json*, std::string> FindArray(json& header, const std::string& name) {
    for (json& segment : header["segments"]) {
      for (json& array : segment["arrays"]) {
        if (array["name"] == name) return {&array, segment["file"]};
      }
    }
    throw std::runtime_error("no array " + name);
  }

  // Changes an array's values and updates its checksum.
  template <class T>
  void Rewrite(const std::string& array, const std::function<void(std::span<T>)>& change) const {
    json header = Header();
    const auto [entry, file] = FindArray(header, array);
    std::string bytes = ReadBytes(File(file));
    std::vector<T> values((*entry)["bytes"].get<size_t>() / sizeof(T));
    const size_t offset = (*entry)["offset"];
    std::memcpy(values.data(), bytes.data() + offset, values.size() * sizeof(T));
    change(values);
    std::memcpy(bytes.data() + offset, values.data(), values.size() * sizeof(T));
    WriteText(File(file), bytes);
    char hex[17];
    std::snprintf(
        hex, sizeof hex, "%016llx",
        static_cast<unsigned long long>(XXH3_64bits(values.data(), values.size() * sizeof(T))));
    (*entry)["xxh3"] = hex;
    WriteHeader(header);
  }

  PartConfig Config() const { return LoadPartConfig(directory_ / "g.json"); }

  // Returns the problems that verify finds, which are expected to be in partition 1 alone.
  std::string Problems() const {
    const VerifyReport report = VerifyGraph(Config());
    EXPECT_FALSE(report.ok());
    EXPECT_TRUE(report.parts[0].ok());
    return Join(report.parts[1].problems, "\n");
  }

  std::string LoadError() const {
    try {
      LoadNativePartition(Config(), 1);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kCorrupt) << error.what();
      return error.what();
    }
    return "no error";
  }

  ScratchDirectory directory_;
};

TEST_F(NativeDamage, AnUndamagedGraphIsOk) {
  const VerifyReport report = VerifyGraph(Config());
  EXPECT_TRUE(report.ok());
  EXPECT_EQ(report.parts.size(), 2u);
}

TEST_F(NativeDamage, AFlippedByteOfAnyArrayIsFoundWithItsFileAndOffset) {
  json header = Header();
  for (const json& segment : header["segments"]) {
    const std::string path = File(segment["file"]);
    const std::string good = ReadBytes(path);
    for (const json& array : segment["arrays"]) {
      std::string bad = good;
      const size_t offset = array["offset"], bytes = array["bytes"];
      bad[offset + bytes / 2] ^= 0x10;
      WriteText(path, bad);
      const std::string expected =
          StrCat(path, ": array '", array["name"].get<std::string>(), "' at offset ", offset);
      EXPECT_THAT(Problems(), HasSubstr(expected));
      EXPECT_THAT(LoadError(), HasSubstr(expected));
    }
    WriteText(path, good);
  }
}

TEST_F(NativeDamage, AChangedByteBetweenArraysIsFound) {
  std::string bytes = ReadBytes(File("graph.seg"));
  bytes.back() ^= 1;
  WriteText(File("graph.seg"), bytes);
  EXPECT_THAT(Problems(), HasSubstr("is between two arrays"));
}

TEST_F(NativeDamage, ATruncatedOrGrownFileIsFoundBeforeItIsRead) {
  for (const char* file : {"graph.seg", "node_feat.seg", "edge_feat.seg"}) {
    const std::string good = ReadBytes(File(file));
    for (size_t size : {size_t{0}, good.size() - 1, good.size() / 2}) {
      WriteText(File(file), good.substr(0, size));
      const std::string expected =
          StrCat(file, ": ends at offset ", size, ", expected ", good.size());
      EXPECT_THAT(Problems(), HasSubstr(expected));
      EXPECT_THAT(LoadError(), HasSubstr(expected));
      EXPECT_THROW(EstimateNativeBytes(Config(), 1), Error);
    }
    WriteText(File(file), good + "x");
    EXPECT_THAT(LoadError(), HasSubstr("ends at offset"));
    WriteText(File(file), good);
  }
}

TEST_F(NativeDamage, AMissingFileIsFound) {
  std::filesystem::remove(File("edge_feat.seg"));
  EXPECT_THAT(Problems(), HasSubstr("edge_feat.seg"));
}

TEST_F(NativeDamage, EveryTruncationOfTheHeaderIsAnError) {
  const std::string good = ReadBytes(File("partition.json"));
  for (size_t size = 0; size + 2 < good.size(); size += 7) {
    WriteText(File("partition.json"), good.substr(0, size));
    EXPECT_THAT(LoadError(), HasSubstr("partition.json: not JSON")) << size;
  }
}

TEST_F(NativeDamage, AHeaderWithFalseClaimsIsRefused) {
  const auto lie = [&](const std::function<void(json&)>& change) {
    json header = Header();
    const json good = header;
    change(header);
    WriteHeader(header);
    const std::string message = LoadError();
    WriteHeader(good);
    EXPECT_THAT(message, HasSubstr("partition.json"));
    return message;
  };
  const auto segment = [](json& h) -> json& { return h["segments"][0]; };
  EXPECT_THAT(lie([&](json& h) { segment(h)["arrays"][0]["shape"] = {uint64_t{1} << 60}; }),
              HasSubstr("csc/0/indptr"));
  EXPECT_THAT(lie([&](json& h) { segment(h)["arrays"][0]["shape"] = {-1}; }), HasSubstr("shape"));
  EXPECT_THAT(lie([&](json& h) { segment(h)["arrays"][1]["offset"] = 0; }),
              HasSubstr("is at offset 0"));
  EXPECT_THAT(lie([&](json& h) { segment(h)["arrays"][1]["dtype"] = "uint63"; }),
              HasSubstr("dtype"));
  EXPECT_THAT(lie([&](json& h) { segment(h)["total_bytes"] = 1.5; }), HasSubstr("total_bytes"));
  EXPECT_THAT(lie([&](json& h) { segment(h)["file"] = "../../etc/passwd"; }), HasSubstr("file"));
  EXPECT_THAT(lie([&](json& h) { segment(h).erase("arrays"); }), HasSubstr("arrays"));
  EXPECT_THAT(lie([&](json& h) { segment(h)["arrays"][0]["xxh3"] = "12"; }), HasSubstr("xxh3"));
  EXPECT_THAT(lie([&](json& h) { h["segments"] = 3; }), HasSubstr("segments"));
  EXPECT_THAT(lie([&](json& h) {
                *FindArray(h, "node/0/feat").first += {"read_as", "int64"};
              }),
              HasSubstr("array 'node/0/feat': float32 can't be read as int64"));
  EXPECT_THAT(lie([&](json& h) { FindArray(h, "node/0/label").first->at("read_as") = 7; }),
              HasSubstr("read_as"));
  EXPECT_THAT(lie([&](json& h) {
                *FindArray(h, "node/0/label").first += {"scale", 2.5};
              }),
              HasSubstr("a scale of 2.5"));
  EXPECT_THAT(lie([&](json& h) {
                *FindArray(h, "node/0/feat").first += {"scale", "1"};
              }),
              HasSubstr("scale"));
  EXPECT_THAT(lie([&](json& h) { h["byte_order"] = "big"; }), HasSubstr("byte_order"));
  EXPECT_THAT(lie([&](json& h) { h["part_id"] = 0; }), HasSubstr("expected partition 1 of 'g'"));
  EXPECT_THAT(lie([&](json& h) { h["graph_name"] = "other"; }), HasSubstr("graph 'other'"));
}

TEST_F(NativeDamage, RandomChangesOfTheHeaderNeverCrash) {
  const std::string good = ReadBytes(File("partition.json"));
  const PartConfig config = Config();
  const std::string_view alphabet = "0123456789-.eE\"[]{}:,ntf/";
  CounterRng rng(11);
  int refused = 0;
  for (int round = 0; round < 1500; round++) {
    std::string bad = good;
    for (uint64_t changes = 1 + rng.Below(3); changes > 0; changes--) {
      bad[rng.Below(bad.size())] = alphabet[rng.Below(alphabet.size())];
    }
    WriteText(File("partition.json"), bad);
    try {
      LoadNativePartition(config, 1)->Validate();
    } catch (const Error& error) {
      EXPECT_NE(error.code(), ErrorCode::kInternal) << error.what();
      refused++;
    }
  }
  EXPECT_GT(refused, 500);
}

TEST_F(NativeDamage, AnotherVersionIsRefusedAsSuch) {
  json header = Header();
  header["version"] = 3;
  WriteHeader(header);
  try {
    LoadNativePartition(Config(), 1);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kVersion);
  }
}

// The following files have correct checksums but wrong contents.

TEST_F(NativeDamage, OffsetsThatDecreaseOrEndWronglyAreFound) {
  const std::string good_header = ReadBytes(File("partition.json"));
  const std::string good = ReadBytes(File("graph.seg"));
  Rewrite<uint64_t>("csc/0/indptr", [](auto offsets) { offsets[3] = offsets[2] - 1; });
  EXPECT_THAT(Problems(), HasSubstr("'csc/0/indptr', element 3 at offset 24"));
  EXPECT_THAT(LoadError(), HasSubstr("part1"));
  WriteText(File("partition.json"), good_header);
  WriteText(File("graph.seg"), good);
  Rewrite<uint64_t>("csc/0/indptr", [](auto offsets) { offsets.back() += 5; });
  EXPECT_THAT(Problems(), HasSubstr("expected the number of edges"));
  EXPECT_NE(LoadError(), "no error");
}

TEST_F(NativeDamage, ASourceThatDoesNotExistIsFound) {
  Rewrite<uint32_t>("csc/0/indices", [](auto sources) { sources[9] = 300; });
  EXPECT_THAT(Problems(), HasSubstr("'csc/0/indices', element 9"));
  EXPECT_THAT(Problems(), HasSubstr("is 300, expected a node in 0..299"));
  EXPECT_THAT(LoadError(), HasSubstr("300"));
}

TEST_F(NativeDamage, TheStructureMayNotBeEncoded) {
  json header = Header();
  json& array = *FindArray(header, "csc/0/indices").first;
  array["read_as"] = "int64";
  WriteHeader(header);
  EXPECT_THAT(LoadError(), HasSubstr("array 'csc/0/indices' is not one-dimensional, or encoded"));
}

TEST_F(NativeDamage, SourcesOutOfOrderAreFound) {
  Rewrite<uint32_t>("csc/0/indices", [&](auto sources) {
    // Descending sources are out of order in some node's list.
    std::sort(sources.begin(), sources.end(), std::greater<>());
  });
  EXPECT_THAT(Problems(), HasSubstr("the sources of one node ascend"));
}

TEST_F(NativeDamage, RepeatedOrInvalidOriginalIdsAreFound) {
  Rewrite<uint16_t>("node/0/orig_id", [](auto ids) { ids[4] = ids[3]; });
  Rewrite<uint16_t>("edge/0/orig_id", [](auto ids) { ids[0] = 3000; });
  EXPECT_THAT(Problems(), HasSubstr("'node/0/orig_id', element 4"));
  EXPECT_THAT(Problems(), HasSubstr("an original id that another one has already"));
  EXPECT_THAT(Problems(), HasSubstr("is 3000, expected an original id in 0..2999"));
}

TEST_F(NativeDamage, RepeatedOriginalIdsOfADenseGraphWithoutFeaturesAreFound) {
  RawGraph graph = HomogeneousGraph(40, RandomMultigraph(40, 9000, 3));
  graph.edges[0].features.clear();
  Partition(graph);
  Rewrite<uint16_t>("edge/0/orig_id", [](auto ids) { ids[4] = ids[3]; });
  EXPECT_THAT(Problems(), HasSubstr("'edge/0/orig_id', element 4"));
}

TEST_F(NativeDamage, FeaturesThatDifferBetweenPartitionsAreFound) {
  json header = Header();
  FindArray(header, "node/0/label").first->at("name") = "node/0/class";
  WriteHeader(header);
  const VerifyReport report = VerifyGraph(Config());
  ASSERT_EQ(report.problems.size(), 1u);
  EXPECT_THAT(report.problems[0], HasSubstr("'label'"));
}

TEST_F(NativeDamage, APartitionOfAnotherGraphOfTheSameNameIsFound) {
  PartitionOptions options;
  options.graph_name = "g";
  options.num_parts = 2;
  options.method = PartMethod::kRandom;
  options.seed = 99;
  options.output = directory_ / "second";
  PartitionGraph(HomogeneousGraph(310, RandomMultigraph(310, 3000, 3)), options);
  std::filesystem::remove_all(directory_ / "part1");
  std::filesystem::rename(directory_ / "second/part1", directory_ / "part1");
  EXPECT_THAT(Problems(), HasSubstr("partition.json"));
  EXPECT_NE(LoadError(), "no error");
}

TEST_F(NativeDamage, ChecksumsNeedNotBeVerified) {
  std::string bytes = ReadBytes(File("node_feat.seg"));
  bytes[2] ^= 1;
  WriteText(File("node_feat.seg"), bytes);
  LoadOptions options;
  options.verify_checksums = false;
  EXPECT_NO_THROW(LoadNativePartition(Config(), 1, options));
}

}  // namespace
}  // namespace graphd
