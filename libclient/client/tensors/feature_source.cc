// SPDX-License-Identifier: Apache-2.0
#include "base/strings.h"
#include "client/tensors/tensor_source.h"

namespace graphd {
namespace {

TensorSpec SpecOf(const GraphAccess& access, const FeatureRef& feature) {
  const FeatureInfo& info = access.feature(feature);
  const PartitionBook& book = access.meta().book;
  TensorSpec spec;
  spec.name = info.name;
  spec.persistent = true;
  spec.policy = feature.is_edge ? TensorPolicy::kEdge : TensorPolicy::kNode;
  spec.type = feature.type;
  spec.rows = book.map(feature.is_edge).count(feature.type);
  spec.dtype = info.dtype;
  spec.row_shape = info.row_shape;
  return spec;
}

class FeatureSource final : public TensorSource {
 public:
  FeatureSource(std::shared_ptr<GraphAccess> access, const FeatureRef& feature)
      : TensorSource(access, SpecOf(*access, feature)), feature_(feature) {}

  void Read(std::span<const int64_t> ids, std::span<std::byte> out) override {
    access_->Gather(feature_, ids, out);
  }
  void Slice(int64_t begin, int64_t end, std::span<std::byte> out) override {
    access_->Slice(feature_, begin, end, out);
  }
  int64_t KeepCached(std::span<const int64_t> ids) override {
    return access_->KeepRows(feature_, ids);
  }
  bool is_feature() const noexcept override { return true; }
  void Write(UpdateKind, std::span<const int64_t>, std::span<const std::byte>) override {
    Refuse();
  }
  void Acquire() override { Refuse(); }
  void Release() override { Refuse(); }

 private:
  [[noreturn]] void Refuse() const {
    Throw(ErrorCode::kDenied, "feature '", spec().name, "' belongs to the graph and cannot be ",
          "changed; make a tensor with DistTensor::Create");
  }
  const FeatureRef feature_;
};

}  // namespace

std::shared_ptr<TensorSource> MakeFeatureSource(std::shared_ptr<GraphAccess> access,
                                                const FeatureRef& feature) {
  return std::make_shared<FeatureSource>(std::move(access), feature);
}

}  // namespace graphd
