// SPDX-License-Identifier: Apache-2.0
#include "graphd/inference_run.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <set>
#include <utility>

#include "base/strings.h"
#include "client/inference/run_records.h"

namespace graphd {
namespace {

constexpr size_t kMaxName = 255;  // bytes of a tensor's name

}  // namespace

struct InferenceRun::State {
  DistGraph graph;
  std::string name;
  int64_t num_layers;
  Arguments arguments;
  bool persistent, resume;
  std::optional<DistTensor> progress = std::nullopt;

  std::string run_name() const { return name + ":run"; }
  std::string progress_name() const { return name + ":progress"; }
  std::string layer_name(int64_t layer) const { return StrCat(name, ":layer", layer); }
  bool is_first() const { return graph.session()->rank() == 0; }

  // Returns a name, and for each node type the name followed by the type's name.
  std::set<std::string> WithTypes(const std::string& stem) const {
    std::set<std::string> names{stem};
    for (const std::string& ntype : graph.ntypes()) names.insert(StrCat(stem, "/", ntype));
    return names;
  }

  std::set<std::string> Existing() const {
    std::set<std::string> names;
    for (const TensorInfo& each : DistTensor::List(graph)) names.insert(each.spec.name);
    return names;
  }

  // Drops the tensors of these names, if they exist.
  void Drop(const std::set<std::string>& names) const {
    for (const std::string& existing : Existing()) {
      if (names.count(existing) != 0) DistTensor::Drop(graph, existing);
    }
  }

  TensorSpec SpecOf(std::string tensor, DType dtype, int64_t rows) const {
    TensorSpec spec;
    spec.name = std::move(tensor);
    spec.policy = TensorPolicy::kRange;
    spec.dtype = dtype;
    spec.rows = rows;
    return spec;
  }

  // Returns the arguments of an earlier run; nothing if there are none.
  std::optional<Arguments> Kept() const {
    try {
      const DistTensor kept = DistTensor::Open(graph, run_name());
      const Tensor bytes = kept.Slice(0, kept.num_rows());
      const auto text = bytes.as<uint8_t>();
      return ArgumentsFromText({reinterpret_cast<const char*>(text.data()), text.size()});
    } catch (const Error& error) {
      if (error.code() != ErrorCode::kNotFound) throw;
      return std::nullopt;
    }
  }

  // Makes the arguments of an earlier run unreadable. Their tensor remains, so that the results are
  // still recognised as those of a run.
  void Invalidate() const {
    const DistTensor kept = DistTensor::Open(graph, run_name());
    Tensor zero = Tensor::Empty(DType::kUInt8, {1});
    zero.data()[0] = std::byte{0};
    kept.Write(std::vector<int64_t>{0}, zero);
  }

  // Refuses names that tensors can't have before anything is computed.
  void CheckNames() const {
    if (name.empty()) Throw(ErrorCode::kInvalid, "the name of layer-wise inference is empty");
    for (const std::string& stem : {progress_name(), layer_name(num_layers)}) {
      for (const std::string& each : WithTypes(stem)) {
        if (each.size() <= kMaxName) continue;
        Throw(ErrorCode::kInvalid, "the name '", name, "' of layer-wise inference is too long: '",
              each, "' has more than ", kMaxName, " bytes");
      }
    }
  }

  void Keep() const {
    const std::string text = ArgumentsToText(arguments, name);
    TensorSpec spec = SpecOf(run_name(), DType::kUInt8, static_cast<int64_t>(text.size()));
    spec.persistent = persistent;
    const DistTensor kept = DistTensor::Create(graph, spec);
    Tensor bytes = Tensor::Empty(DType::kUInt8, {spec.rows});
    std::memcpy(bytes.data(), text.data(), text.size());
    std::vector<int64_t> ids(text.size());
    for (size_t i = 0; i < ids.size(); i++) ids[i] = static_cast<int64_t>(i);
    kept.Write(ids, bytes);
  }

  // Returns whether the daemons have the arguments, progress and rows of a run of this version.
  bool CanGoOn() const {
    if (!resume) return false;
    const std::optional<Arguments> kept = Kept();
    if (!kept || VersionOf(*kept) != VersionOf(arguments)) return false;
    const std::set<std::string> existing = Existing();
    if (existing.count(progress_name()) == 0) return false;
    const DistTensor marks = DistTensor::Open(graph, progress_name());
    const auto places =
        ReadMarks(marks.Slice(0, marks.num_rows()), graph.session()->world_size(), num_layers);
    // If the marks do not fit because the run has other arguments, returns true, so that
    // CheckArguments refuses to go on with the run. With the same arguments, the run starts over.
    if (!places) return *kept != arguments;
    const bool has_written = std::any_of(places->begin(), places->end(), [&](const Place& place) {
      return place.layer == num_layers - 1 && place.batches > 0;
    });
    const std::set<std::string> results = WithTypes(name);
    return !has_written || std::any_of(results.begin(), results.end(),
                                       [&](const auto& each) { return existing.count(each) != 0; });
  }

  // Drops what an earlier run has left, and stores the new arguments. The earlier run's arguments
  // are made unreadable first and dropped last, and the new arguments are stored at the very end.
  // Whenever this is interrupted, the next call therefore starts over, and recognises the results
  // as those of a run.
  void StartOver() const {
    const std::set<std::string> existing = Existing(), results = WithTypes(name);
    if (existing.count(run_name()) == 0) {
      for (const std::string& result : results) {
        if (existing.count(result) == 0) continue;
        Throw(ErrorCode::kExists, "tensor '", result,
              "' exists and is not the result of layer-wise inference; give another name, or drop "
              "it (DistTensor.drop, DistTensor::Drop)");
      }
    }
    if (existing.count(run_name()) != 0) Invalidate();
    Drop({progress_name()});
    std::set<std::string> layers = results;
    for (const std::string& each : existing) {
      if (each.starts_with(name + ":layer")) layers.insert(each);
    }
    Drop(layers);
    Drop({run_name()});
    if (resume) {
      TensorSpec spec = SpecOf(progress_name(), DType::kInt64, graph.session()->world_size());
      spec.row_shape = {2};
      spec.persistent = true;
      DistTensor::Create(graph, spec);
    }
    Keep();
  }

  void CheckArguments() const {
    const std::optional<Arguments> kept = Kept();
    if (!kept) {
      Throw(ErrorCode::kUnavailable, "layer-wise inference '", name,
            "': trainer 0 has not started the run; its error says why");
    }
    if (*kept == arguments) return;
    std::vector<std::string> differing;
    for (const auto& [key, value] : arguments) {
      const auto found = kept->find(key);
      if (found != kept->end() && found->second == value) continue;
      differing.push_back(
          StrCat(key, " ", found == kept->end() ? "missing" : found->second, " (now ", value, ")"));
    }
    Throw(ErrorCode::kInvalid, "layer-wise inference '", name,
          "': the run that is on the servers has other arguments: ", Join(differing, ", "),
          "; give the same, in all trainers; to start over although it could be resumed, give "
          "another version");
  }

  static std::string VersionOf(const Arguments& arguments) {
    const auto found = arguments.find("version");
    return found == arguments.end() ? "" : found->second;
  }
};

InferenceRun::InferenceRun(DistGraph graph, std::string name, int64_t num_layers,
                           Arguments arguments, bool persistent, bool resume)
    : state_(std::make_unique<State>(State{std::move(graph), std::move(name), num_layers,
                                           std::move(arguments), persistent || resume, resume})) {
  if (num_layers < 1) Throw(ErrorCode::kInvalid, "there is no layer; give one at least");
  state_->arguments["layers"] = StrCat(num_layers);
  state_->arguments["trainers"] = StrCat(state_->graph.session()->world_size());
  state_->CheckNames();
  ArgumentsToText(state_->arguments, state_->name);  // throws if they can't be kept
}
InferenceRun::~InferenceRun() = default;

InferenceRun::Place InferenceRun::Begin() {
  State& run = *state_;
  // Each barrier reports trainers that do not come. After the first barrier, all trainers have
  // returned from their previous call, and have read what they need of its result.
  run.graph.Barrier();
  if (run.is_first() && !run.CanGoOn()) run.StartOver();
  run.graph.Barrier();
  run.CheckArguments();
  if (!run.resume) return {};
  run.progress = DistTensor::Open(run.graph, run.progress_name());
  const Tensor mark = run.progress->Read(std::vector<int64_t>{run.graph.session()->rank()});
  return {mark.as<int64_t>()[0], mark.as<int64_t>()[1]};
}

void InferenceRun::Mark(const Place& done) {
  if (!state_->progress) return;
  Tensor mark = Tensor::Empty(DType::kInt64, {1, 2});
  mark.as<int64_t>()[0] = done.layer;
  mark.as<int64_t>()[1] = done.batches;
  state_->progress->Write(std::vector<int64_t>{state_->graph.session()->rank()}, mark);
}

std::string InferenceRun::TensorName(int64_t layer, const std::string& type_name) const {
  const std::string stem =
      layer == state_->num_layers - 1 ? state_->name : state_->layer_name(layer);
  return type_name.empty() ? stem : StrCat(stem, "/", type_name);
}

bool InferenceRun::IsPersistent(int64_t layer) const noexcept {
  return layer == state_->num_layers - 1 ? state_->persistent : state_->resume;
}

void InferenceRun::FinishLayer(int64_t layer) {
  state_->graph.WaitForAll();
  if (state_->is_first() && layer > 0)
    state_->Drop(state_->WithTypes(state_->layer_name(layer - 1)));
}

}  // namespace graphd
