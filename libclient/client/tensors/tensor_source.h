// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "client/routing/graph_access.h"
#include "graphd/dist_tensor.h"

namespace graphd {

// The interface of the store of a DistTensor's rows. Thread-safe.
class TensorSource {
 public:
  virtual ~TensorSource() = default;
  TensorSource(const TensorSource&) = delete;
  TensorSource& operator=(const TensorSource&) = delete;

  const TensorSpec& spec() const noexcept { return spec_; }  // `rows` is filled in
  GraphAccess& access() const noexcept { return *access_; }

  // Implement DistTensor's methods of these names; `out` and `rows` have the right size.
  virtual void Read(std::span<const int64_t> ids, std::span<std::byte> out) = 0;
  virtual void Slice(int64_t begin, int64_t end, std::span<std::byte> out) = 0;
  virtual int64_t KeepCached(std::span<const int64_t> ids) = 0;
  virtual bool is_feature() const noexcept = 0;
  // Writes rows; `kind` is kSet or kAdd.
  virtual void Write(UpdateKind kind, std::span<const int64_t> ids,
                     std::span<const std::byte> rows) = 0;
  virtual void Acquire() = 0;
  virtual void Release() = 0;

 protected:
  TensorSource(std::shared_ptr<GraphAccess> access, TensorSpec spec)
      : access_(std::move(access)), spec_(std::move(spec)) {}
  std::shared_ptr<GraphAccess> access_;

 private:
  TensorSpec spec_;
};

// Returns a feature of the graph. Throws as GraphAccess::feature does.
std::shared_ptr<TensorSource> MakeFeatureSource(std::shared_ptr<GraphAccess> access,
                                                const FeatureRef& feature);

}  // namespace graphd
