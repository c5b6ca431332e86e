// SPDX-License-Identifier: Apache-2.0
// Tests tensors of a graph whose partitions own arbitrary ids.
#include <numeric>

#include "tests/unit/client/tensor_fixture.h"
#include "tests/unit/format/fixture_files.h"

namespace graphd::testing {
namespace {

class MappedBook : public ::testing::Test {
 protected:
  static DistGraph OpenFixture(const std::string& folder) {
    test::CopyUnpacked(test::SourceFixtureRoot() + "/legacy091_noreshuffle_2p", folder);
    Options options;
    options.part_config = folder + "/sbm.json";
    return DistGraph(Initialize(options));
  }
  test::TempFolder folder_;
  const DistGraph graph_ = OpenFixture(folder_.path());
};

TEST_F(MappedBook, HasNoRanges) {
  EXPECT_FALSE(graph_.partition_book().nodes().is_range());
  EXPECT_GT(graph_.partition_book().num_partitions(), 1);
}

TEST_F(MappedBook, InitialValuesDependOnTheIdAlone) {
  TensorSpec spec;
  spec.name = "of nodes";
  spec.row_shape = {3};
  spec.initializer = Initializer::Uniform(0, 1, 9);
  const Tensor of_nodes = All(DistTensor::Create(graph_, spec));
  spec.name = "of its own";
  spec.policy = TensorPolicy::kRange;
  spec.rows = graph_.num_nodes();
  EXPECT_TRUE(SameBits(of_nodes, All(DistTensor::Create(graph_, spec))));
}

TEST_F(MappedBook, RowsAreFilledWrittenAndReadById) {
  TensorSpec spec;
  spec.name = "ids";
  spec.dtype = DType::kInt64;
  const DistTensor tensor = DistTensor::Create(graph_, spec, [](int64_t begin, Tensor& rows) {
    std::iota(rows.as<int64_t>().begin(), rows.as<int64_t>().end(), begin);
  });
  const Tensor filled = All(tensor);
  for (int64_t id = 0; id < graph_.num_nodes(); id++) {
    ASSERT_EQ(filled.as<int64_t>()[static_cast<size_t>(id)], id);
  }
  const std::vector<int64_t> ids = {5, 2, 7, 5};
  Tensor rows = Tensor::Empty(DType::kInt64, {4});
  std::iota(rows.as<int64_t>().begin(), rows.as<int64_t>().end(), 100);
  tensor.Write(ids, rows);
  const Tensor now = tensor.Slice(0, 8);
  const std::vector<int64_t> wanted = {0, 1, 101, 3, 4, 103, 6, 102};
  EXPECT_TRUE(std::equal(wanted.begin(), wanted.end(), now.as<int64_t>().begin()));
}

}  // namespace
}  // namespace graphd::testing
