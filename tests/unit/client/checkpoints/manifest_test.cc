// SPDX-License-Identifier: Apache-2.0
// Tests that a manifest of a false daemon is refused before its contents are used.
#include "client/checkpoints/manifest.h"

#include <gtest/gtest.h>

#include "base/strings.h"

namespace graphd::testing {
namespace {

const Schema kSchema{{"u", "v"}, {{"u", "to", "v"}}};

Manifest GoodManifest() {
  Manifest manifest;
  manifest.id = "0123";
  manifest.checkpoint.name = "c";
  manifest.checkpoint.num_parts = 2;
  manifest.checkpoint.files["net.pt"] = 12;
  TensorSpec spec;
  spec.name = "emb";
  spec.rows = 3;
  spec.row_shape = {2, 4};
  manifest.checkpoint.tensors.push_back({spec, OptimizerState::kNone});
  return manifest;
}

void Decode(const Manifest& manifest) {
  DecodeManifest(EncodeManifest(manifest, kSchema), kSchema);
}

void ExpectCorrupt(const Manifest& manifest) {
  try {
    Decode(manifest);
    ADD_FAILURE() << EncodeManifest(manifest, kSchema);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kCorrupt) << error.what();
  }
}

TEST(Manifest, ANameThatIsAPathIsRefused) {
  EXPECT_NO_THROW(Decode(GoodManifest()));
  for (const char* file : {"../../victim/.bashrc", "/etc/passwd", "..", ""}) {
    Manifest manifest = GoodManifest();
    manifest.checkpoint.files[file] = 1;
    ExpectCorrupt(manifest);
  }
  for (const char* name : {"../c", ".hidden", ""}) {
    Manifest manifest = GoodManifest();
    manifest.checkpoint.name = name;
    ExpectCorrupt(manifest);
  }
}

TEST(Manifest, AShapeOfRowsThatCannotExistIsRefused) {
  const int64_t huge = int64_t{1} << 32;
  for (const auto& shape : {std::vector<int64_t>{0}, {-1}, {-1, -4}, {huge, huge}, {huge}}) {
    Manifest manifest = GoodManifest();
    manifest.checkpoint.tensors[0].spec.row_shape = shape;
    ExpectCorrupt(manifest);
  }
}

TEST(Manifest, ACheckpointWithoutPartitionsIsRefused) {
  for (const PartId parts : {0, -2}) {
    Manifest manifest = GoodManifest();
    manifest.checkpoint.num_parts = parts;
    ExpectCorrupt(manifest);
  }
}

}  // namespace
}  // namespace graphd::testing
