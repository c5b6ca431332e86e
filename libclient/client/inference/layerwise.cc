// SPDX-License-Identifier: Apache-2.0
#include "graphd/layerwise.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <future>
#include <system_error>
#include <utility>

#include "base/interruptions.h"
#include "base/strings.h"
#include "format/io/checksum.h"
#include "graphd/dist_data_loader.h"
#include "graphd/inference_run.h"
#include "graphd/node_split.h"

namespace graphd {
namespace {

constexpr int64_t kMaskRowsAtOnce = int64_t{4} << 20;

// The nodes that this trainer computes in a layer, by node type.
using Shares = std::vector<std::vector<int64_t>>;

// A summary of a mask, by which the masks of two runs are compared.
struct MaskSummary {
  std::string checksum;
  bool chooses_any = false;
};

MaskSummary Summarize(const DistTensor& mask) {
  MaskSummary summary;
  Checksum sum;
  for (int64_t begin = 0; begin < mask.num_rows(); begin += kMaskRowsAtOnce) {
    const Tensor rows = mask.Slice(begin, std::min(begin + kMaskRowsAtOnce, mask.num_rows()));
    const std::span<const std::byte> bytes(rows.data(), rows.num_bytes());
    sum.Update(bytes);
    summary.chooses_any |= std::any_of(bytes.begin(), bytes.end(),
                                       [](std::byte each) { return each != std::byte{0}; });
  }
  summary.checksum = StrCat(sum.Digest());
  return summary;
}

// Writes the rows of one batch at a time while the next batch is computed.
class WriteBehind {
 public:
  explicit WriteBehind(InferenceRun& run) : run_(run) {}

  // Waits until the previous batch is written. Then starts to write this one, after which the
  // progress is noted. Throws what writing the previous batch has thrown.
  void Put(const DistTensor& tensor, std::vector<int64_t> ids, Tensor rows,
           const InferenceRun::Place& done) {
    Finish();
    try {
      writing_ = std::async(std::launch::async,
                            [this, tensor, ids = std::move(ids), rows = std::move(rows), done] {
                              Write(tensor, ids, rows, done);
                            });
    } catch (const std::system_error& error) {
      Throw(ErrorCode::kOverloaded, "can't start a thread that writes rows: ", error.what());
    }
  }
  void Finish() {
    if (!writing_.valid()) return;
    AwaitFuture(writing_);
    writing_.get();
  }
  // Ends a write that waits for a daemon; nobody needs it after an error or an interruption.
  ~WriteBehind() { is_stopped_ = true; }
  WriteBehind(const WriteBehind&) = delete;
  WriteBehind& operator=(const WriteBehind&) = delete;

 private:
  void Write(const DistTensor& tensor, const std::vector<int64_t>& ids, const Tensor& rows,
             const InferenceRun::Place& done) {
    struct NobodyWaits {};
    const InterruptCheck check([this] {
      if (is_stopped_) throw NobodyWaits{};
    });
    tensor.Write(ids, rows);
    run_.Mark(done);
  }

  InferenceRun& run_;
  std::atomic<bool> is_stopped_{false};
  std::future<void> writing_;  // its destructor waits
};

// Carries out one call of Layerwise.
class FullGraph {
 public:
  FullGraph(const DistGraph& graph, const std::vector<LayerFunction>& layers,
            const std::vector<DistTensor>& features, const LayerwiseOptions& options)
      : graph_(graph), layers_(layers), options_(options) {
    Check(features);
    for (const FeatureOfEdgeType& each : options.edge_features) {
      edge_features_.push_back(graph.edata(each.name, each.etype));
    }
    SummarizeMasks();
    MakeSamplers();
    shares_ = Split({});
    last_shares_ = options.nodes.empty() ? shares_ : Split(options.nodes);
    for (int64_t layer = 0; layer < num_layers(); layer++) total_ += NumBatches(layer);
    run_.emplace(graph, options.name, num_layers(), ArgumentsOf(features), options.persistent,
                 options.resume);
    inputs_.resize(num_types());
    for (const DistTensor& each : features) inputs_[static_cast<size_t>(each.type())] = each;
  }

  std::vector<DistTensor> Run() {
    const InferenceRun::Place first = run_->Begin();
    CheckPlace(first);
    for (int64_t layer = 0; layer < num_layers(); layer++) {
      if (layer >= first.layer) Compute(layer, layer == first.layer ? first.batches : 0);
      before_ += NumBatches(layer);
      run_->FinishLayer(layer);
    }
    std::vector<DistTensor> results;
    for (const auto& each : TensorsOf(num_layers() - 1)) {
      if (each) results.push_back(*each);
    }
    return results;
  }

 private:
  using Tensors = std::vector<std::optional<DistTensor>>;  // [ntype]

  struct Made {
    std::vector<int64_t> ids;
    LayerBatch batch;
  };

  int64_t num_layers() const { return static_cast<int64_t>(layers_.size()); }
  size_t num_types() const { return static_cast<size_t>(graph_.schema().num_ntypes()); }
  const Shares& SharesOf(int64_t layer) const {
    return layer == num_layers() - 1 ? last_shares_ : shares_;
  }
  int64_t BatchesOf(const std::vector<int64_t>& nodes) const {
    const auto count = static_cast<int64_t>(nodes.size());
    return count / options_.batch_size + (count % options_.batch_size != 0);
  }
  int64_t NumBatches(int64_t layer) const {
    int64_t count = 0;
    for (const auto& nodes : SharesOf(layer)) count += BatchesOf(nodes);
    return count;
  }
  // Returns the name of a type as it is used in the names of tensors: empty in a graph with one
  // type.
  std::string TypeName(size_t type) const {
    return num_types() == 1 ? "" : graph_.schema().ntype(static_cast<int32_t>(type));
  }

  void Check(const std::vector<DistTensor>& features) const {
    if (layers_.empty()) Throw(ErrorCode::kInvalid, "there is no layer; give one at least");
    for (size_t i = 0; i < layers_.size(); i++) {
      if (!layers_[i]) Throw(ErrorCode::kInvalid, "layer ", i, " is an empty function");
    }
    if (options_.batch_size < 1) {
      Throw(ErrorCode::kInvalid, "batch_size ", options_.batch_size, ": expected 1 or more");
    }
    if (options_.fanouts && options_.fanouts->num_layers() != layers_.size()) {
      Throw(ErrorCode::kInvalid, "there are fanouts for ", options_.fanouts->num_layers(),
            " layers, expected one for each of ", layers_.size());
    }
    if (features.empty()) {
      Throw(ErrorCode::kInvalid,
            "there are no features; give a tensor of nodes for each type that "
            "has inputs");
    }
    CheckOfNodes(features, "feature");
    CheckOfNodes(options_.nodes, "mask");
    if (options_.num_workers < -1 || options_.num_workers > kMaxWorkers) {
      Throw(ErrorCode::kInvalid, "num_workers ", options_.num_workers, ": expected -1..",
            kMaxWorkers);
    }
  }

  void CheckOfNodes(const std::vector<DistTensor>& tensors, const char* what) const {
    std::vector<bool> seen(num_types());
    for (const DistTensor& each : tensors) {
      if (each.is_edge() || each.spec().policy != TensorPolicy::kNode) {
        Throw(ErrorCode::kInvalid, what, " '", each.name(), "' does not belong to nodes");
      }
      const int64_t count = graph_.num_nodes(NodeTypeId(each.type()));
      if (each.num_rows() != count) {
        Throw(ErrorCode::kInvalid, what, " '", each.name(), "' has ", each.num_rows(),
              " rows, expected ", count, ", one per node of its type");
      }
      if (each.name() == options_.name || each.name().starts_with(options_.name + "/") ||
          each.name().starts_with(options_.name + ":")) {
        Throw(ErrorCode::kInvalid, what, " '", each.name(), "' would be replaced by the result '",
              options_.name, "'; give the result another name");
      }
      if (seen[static_cast<size_t>(each.type())]) {
        Throw(ErrorCode::kInvalid, "there are two ", what, "s of nodes of type '",
              graph_.schema().ntype(each.type()), "'; give one");
      }
      seen[static_cast<size_t>(each.type())] = true;
    }
  }

  // Refuses a mark that this trainer has not made, because its nodes would be read beyond the end.
  void CheckPlace(const InferenceRun::Place& first) const {
    const int64_t most = NumBatches(first.layer);
    if (first.batches <= most) return;
    Throw(ErrorCode::kInvalid, "layer-wise inference '", options_.name, "': ", first.batches,
          " batches of layer ", first.layer, " are noted as done, but this trainer has ", most,
          "; to start over, give another version");
  }

  void SummarizeMasks() {
    bool choose_any = options_.nodes.empty();
    for (const DistTensor& mask : options_.nodes) {
      MaskSummary summary = Summarize(mask);
      choose_any |= summary.chooses_any;
      masks_.push_back(StrCat(mask.type(), "=", summary.checksum));
    }
    if (!choose_any) {
      Throw(ErrorCode::kInvalid, "the masks of nodes choose none; expected one at least");
    }
    std::sort(masks_.begin(), masks_.end());
  }

  void MakeSamplers() {
    const NeighborOptions neighbors{.edge_ids = !options_.edge_features.empty()};
    for (size_t layer = 0; layer < layers_.size(); layer++) {
      const int32_t num_etypes = graph_.schema().num_etypes();
      std::vector<std::vector<int>> of_layer{
          options_.fanouts ? options_.fanouts->OfTypes(layer, num_etypes)
                           : std::vector<int>(static_cast<size_t>(num_etypes), kAllNeighbors)};
      samplers_.emplace_back(LayerFanouts(std::move(of_layer)), neighbors);
    }
  }

  // Returns this trainer's share of the nodes that masks choose; without masks, of all nodes.
  Shares Split(const std::vector<DistTensor>& masks) const {
    Shares shares(num_types());
    for (const DistTensor& mask : masks) {
      shares[static_cast<size_t>(mask.type())] = NodeSplit(graph_, mask);
    }
    for (size_t type = 0; masks.empty() && type < num_types(); type++) {
      const NodeTypeId ntype(type);
      Tensor all = Tensor::Empty(DType::kBool, {graph_.num_nodes(ntype)});
      std::memset(all.data(), 1, all.num_bytes());
      shares[type] = NodeSplit(graph_, all, ntype);
    }
    return shares;
  }

  InferenceRun::Arguments ArgumentsOf(const std::vector<DistTensor>& features) const {
    std::vector<std::string> names;
    for (const DistTensor& each : features) names.push_back(StrCat(each.type(), "=", each.name()));
    std::sort(names.begin(), names.end());
    std::vector<std::string> fanouts, edge_features;
    for (size_t layer = 0; options_.fanouts && layer < layers_.size(); layer++) {
      const auto of_layer = options_.fanouts->OfTypes(layer, graph_.schema().num_etypes());
      std::vector<std::string> texts;
      for (const int fanout : of_layer) texts.push_back(StrCat(fanout));
      fanouts.push_back(Join(texts, "/"));
    }
    for (const FeatureOfEdgeType& each : options_.edge_features) {
      edge_features.push_back(StrCat(each.etype, "=", each.name));
    }
    return {{"batch_size", StrCat(options_.batch_size)},
            {"edge_features", Join(edge_features, ",")},
            {"fanouts", options_.fanouts ? Join(fanouts, ",") : "all"},
            {"features", Join(names, ",")},
            {"nodes", masks_.empty() ? "all" : Join(masks_, ",")},
            {"seed", StrCat(options_.seed)},
            {"version", options_.version}};
  }

  // Returns the tensors of a layer that all trainers have finished.
  Tensors TensorsOf(int64_t layer) const {
    Tensors found(num_types());
    for (size_t type = 0; type < num_types(); type++) {
      try {
        found[type] = DistTensor::Open(graph_, run_->TensorName(layer, TypeName(type)));
      } catch (const Error& error) {
        if (error.code() != ErrorCode::kNotFound) throw;
      }
    }
    if (std::none_of(found.begin(), found.end(),
                     [](const auto& each) { return each.has_value(); })) {
      Throw(ErrorCode::kInvalid, "layer ", layer,
            " has returned no rows for the destinations of any batch; expected a tensor with a row "
            "for each");
    }
    return found;
  }

  // Computes the rows of this trainer's nodes, from its batch number `done` on.
  void Compute(int64_t layer, int64_t done) {
    if (done == NumBatches(layer)) return;  // the layer's inputs may have been dropped already
    if (layer > 0) inputs_ = TensorsOf(layer - 1);
    WriteBehind writer(*run_);
    int64_t begin = 0;
    for (size_t type = 0; type < num_types(); type++) {
      const int64_t end = begin + BatchesOf(SharesOf(layer)[type]);
      if (done < end) done = ComputeType(layer, type, writer, begin, done);
      begin = end;
    }
    writer.Finish();
    run_->Mark({layer, NumBatches(layer)});  // the last type may have no output
  }

  // Computes the rows of nodes of a type, whose batches are numbered from `begin`. Returns the
  // number of batches that are done then.
  int64_t ComputeType(int64_t layer, size_t type, WriteBehind& writer, int64_t begin,
                      int64_t done) {
    const std::vector<int64_t>& nodes = SharesOf(layer)[type];
    std::vector<int64_t> rest(nodes.begin() + (done - begin) * options_.batch_size, nodes.end());
    DistDataLoader loader(
        graph_.session(), std::move(rest),
        [&](std::span<const int64_t> ids, const BatchInfo&) { return Make(layer, type, ids); },
        {.batch_size = options_.batch_size, .num_workers = options_.num_workers});
    std::optional<DistTensor> tensor;
    loader.StartEpoch(0);
    while (auto made = loader.Next()) {
      std::vector<Tensor> out = layers_[static_cast<size_t>(layer)](made->batch);
      if (type >= out.size() || out[type].num_elements() == 0) {  // the type has no output
        if (done > begin) {
          Throw(ErrorCode::kInvalid, "layer ", layer,
                " has returned no rows for a batch of nodes of type '",
                graph_.schema().ntype(static_cast<int32_t>(type)),
                "', but rows for batches before it; expected rows for all or for none");
        }
        done = begin + BatchesOf(nodes);
        if (options_.progress) options_.progress(before_ + done, total_);
        return done;
      }
      CheckRows(layer, out[type], made->ids.size(), type);
      if (!tensor) tensor = MakeTensor(layer, type, out[type]);
      done++;
      writer.Put(*tensor, std::move(made->ids), std::move(out[type]), {layer, done});
      if (options_.progress) options_.progress(before_ + done, total_);
    }
    return done;
  }

  Made Make(int64_t layer, size_t type, std::span<const int64_t> ids) const {
    BatchRequest request;
    request.seeds.resize(num_types());
    request.seeds[type].assign(ids.begin(), ids.end());
    request.seed = options_.seed + static_cast<uint64_t>(layer);
    MiniBatch found = samplers_[static_cast<size_t>(layer)].Sample(graph_, std::move(request));
    Made made{{ids.begin(), ids.end()}, {std::move(found.blocks[0]), {}, {}}};
    for (size_t t = 0; t < num_types(); t++) {
      made.batch.rows.push_back(inputs_[t] ? inputs_[t]->Read(made.batch.block.src_nodes[t])
                                           : Tensor());
    }
    for (const DistTensor& feature : edge_features_) {
      const BlockEdges& edges = made.batch.block.edges[static_cast<size_t>(feature.type())];
      made.batch.edge_rows.push_back(feature.Read(edges.edge_ids));
    }
    return made;
  }

  void CheckRows(int64_t layer, const Tensor& rows, size_t count, size_t type) const {
    if (!rows.shape().empty() && rows.shape()[0] == static_cast<int64_t>(count)) return;
    Throw(ErrorCode::kInvalid, "layer ", layer, " has returned ", rows.num_rows(), " rows for ",
          count, " nodes of type '", graph_.schema().ntype(static_cast<int32_t>(type)),
          "', expected a row for each of the block's destinations");
  }

  DistTensor MakeTensor(int64_t layer, size_t type, const Tensor& rows) const {
    TensorSpec spec;
    spec.name = run_->TensorName(layer, TypeName(type));
    spec.persistent = run_->IsPersistent(layer);
    spec.type = static_cast<int32_t>(type);
    spec.dtype = rows.dtype();
    spec.row_shape.assign(rows.shape().begin() + 1, rows.shape().end());
    return DistTensor::Create(graph_, spec);
  }

  const DistGraph& graph_;
  const std::vector<LayerFunction>& layers_;
  const LayerwiseOptions& options_;
  std::vector<NeighborSampler> samplers_;  // one per layer
  std::vector<DistTensor> edge_features_;
  std::vector<std::string> masks_;  // type and checksum of each
  Shares shares_, last_shares_;
  Tensors inputs_;      // tensors that the current layer reads
  int64_t before_ = 0;  // batches of this trainer in the layers before the current one
  int64_t total_ = 0;
  std::optional<InferenceRun> run_;
};

}  // namespace

std::vector<DistTensor> Layerwise(const DistGraph& graph, const std::vector<LayerFunction>& layers,
                                  const std::vector<DistTensor>& features,
                                  const LayerwiseOptions& options) {
  return FullGraph(graph, layers, features, options).Run();
}

}  // namespace graphd
