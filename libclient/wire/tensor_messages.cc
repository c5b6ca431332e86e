// SPDX-License-Identifier: Apache-2.0
#include "wire/tensor_messages.h"

#include "base/log.h"
#include "base/strings.h"
#include "graph/tensor_rows.h"
#include "wire/bounded.h"

namespace graphd {
namespace {

// Returns the enumerator with a number from a message. Throws Error(kVersion) for a number that
// this version does not know.
template <class E>
E Enumerator(const std::string& tensor, const char* what, uint8_t number, uint8_t count) {
  if (number < count) return static_cast<E>(number);
  Throw(ErrorCode::kVersion, "tensor '", tensor, "': ", what, " ", int{number},
        " is unknown to this version of graphd, which is perhaps older than the other side");
}

}  // namespace

void WriteTensorSpec(const TensorSpec& spec, wire::TensorSpec::Builder out) {
  out.setName(spec.name);
  out.setPersistent(spec.persistent);
  out.setPolicy(static_cast<uint8_t>(spec.policy));
  out.setType(spec.type);
  out.setRows(spec.rows);
  out.setDtype(static_cast<uint8_t>(spec.dtype));
  auto shape = out.initRowShape(static_cast<kj::uint>(spec.row_shape.size()));
  for (kj::uint d = 0; d < shape.size(); d++) shape.set(d, spec.row_shape[d]);
  auto initializer = out.initInitializer();
  initializer.setKind(static_cast<uint8_t>(spec.initializer.kind));
  initializer.setA(spec.initializer.a);
  initializer.setB(spec.initializer.b);
  initializer.setSeed(spec.initializer.seed);
  out.setWriters(static_cast<uint8_t>(spec.writers));
}

TensorSpec ReadTensorSpec(wire::TensorSpec::Reader in) {
  TensorSpec spec;
  spec.name = BoundedText(in.getName(), kMaxTensorName, "the name of a tensor");
  spec.persistent = in.getPersistent();
  spec.policy = Enumerator<TensorPolicy>(spec.name, "policy", in.getPolicy(), kTensorPolicies);
  spec.type = in.getType();
  spec.rows = in.getRows();
  spec.dtype = Enumerator<DType>(spec.name, "dtype", in.getDtype(), kDTypes);
  if (in.getRowShape().size() > kMaxExtents) {
    Throw(ErrorCode::kInvalid, "tensor '", spec.name, "' has ", in.getRowShape().size(),
          " dimensions after the first; at most ", kMaxExtents, " are possible");
  }
  for (const int64_t extent : in.getRowShape()) spec.row_shape.push_back(extent);
  const auto initializer = in.getInitializer();
  spec.initializer = {
      Enumerator<InitKind>(spec.name, "initialiser", initializer.getKind(), kInitKinds),
      initializer.getA(), initializer.getB(), initializer.getSeed()};
  spec.writers = Enumerator<TensorWriters>(spec.name, "writers", in.getWriters(), kTensorWriters);
  return spec;
}

void WriteShare(const TensorShare& share, wire::TensorInfo::Builder out) {
  out.setTable(share.table);
  out.setPart(share.part);
  WriteTensorSpec(share.info.spec, out.initSpec());
  out.setState(static_cast<uint8_t>(share.info.state));
  out.setJobId(share.info.job_id);
  out.setHolder(share.info.holder);
  out.setResidentBytes(share.resident_bytes);
  out.setStoredRows(share.stored_rows);
  out.setTrouble(share.trouble);
  out.setPreparingBytes(share.preparing_bytes);
}

TensorShare ReadShare(wire::TensorInfo::Reader in) {
  TensorShare share;
  share.table = in.getTable();
  share.part = in.getPart();
  share.info.spec = ReadTensorSpec(in.getSpec());
  share.info.state = Enumerator<OptimizerState>(share.info.spec.name, "optimiser state",
                                                in.getState(), kOptimizerStates);
  share.info.job_id = in.getJobId().cStr();
  share.info.holder = in.getHolder().cStr();
  share.resident_bytes = in.getResidentBytes();
  share.stored_rows = in.getStoredRows();
  share.trouble = in.getTrouble().cStr();
  share.preparing_bytes = in.getPreparingBytes();
  return share;
}

std::vector<TensorShare> ReadShares(capnp::List<wire::TensorInfo>::Reader in) {
  std::vector<TensorShare> shares;
  for (auto share : BoundedList(in, "tensors")) {
    try {
      shares.push_back(ReadShare(share));
    } catch (const Error& error) {
      if (error.code() != ErrorCode::kVersion) throw;
      LogWarning("a list of tensors lacks one: ", error.what());
    }
  }
  return shares;
}

void WriteUpdateRule(const UpdateRule& rule, wire::UpdateRule::Builder out) {
  out.setKind(static_cast<uint8_t>(rule.kind));
  out.setMeanOfDuplicates(rule.mean_of_duplicates != 0);
  out.setLr(rule.lr);
  out.setEps(rule.eps);
  out.setBeta1(rule.beta1);
  out.setBeta2(rule.beta2);
  out.setWeightDecay(rule.weight_decay);
}

UpdateRule ReadUpdateRule(wire::UpdateRule::Reader in) {
  UpdateRule rule;
  rule.kind = static_cast<UpdateKind>(in.getKind());
  rule.mean_of_duplicates = in.getMeanOfDuplicates() ? 1 : 0;
  rule.lr = in.getLr();
  rule.eps = in.getEps();
  rule.beta1 = in.getBeta1();
  rule.beta2 = in.getBeta2();
  rule.weight_decay = in.getWeightDecay();
  return rule;
}

void WriteStoreStatus(const StoreStatus& status, wire::StoreStatus::Builder out) {
  out.setDirectory(status.directory);
  out.setDurability(status.durability);
  out.setMemory(status.memory);
  out.setMemoryBytes(status.memory_bytes);
  out.setResidentBytes(status.resident_bytes);
  out.setPageBytes(status.page_bytes);
  out.setLogBytes(status.log_bytes);
  out.setPushes(status.pushes);
  out.setChangedBytes(status.changed_bytes);
  out.setWrittenBytes(status.written_bytes);
  out.setTrouble(status.trouble);
  auto damage = out.initDamage(static_cast<kj::uint>(status.damage.size()));
  for (kj::uint i = 0; i < damage.size(); i++) damage.set(i, status.damage[i]);
}

StoreStatus ReadStoreStatus(wire::StoreStatus::Reader in) {
  StoreStatus status;
  status.directory = in.getDirectory().cStr();
  status.durability = in.getDurability().cStr();
  status.memory = in.getMemory().cStr();
  status.memory_bytes = in.getMemoryBytes();
  status.resident_bytes = in.getResidentBytes();
  status.page_bytes = in.getPageBytes();
  status.log_bytes = in.getLogBytes();
  status.pushes = in.getPushes();
  status.changed_bytes = in.getChangedBytes();
  status.written_bytes = in.getWrittenBytes();
  status.trouble = in.getTrouble().cStr();
  for (const auto text : in.getDamage()) status.damage.emplace_back(text.cStr());
  return status;
}

}  // namespace graphd
