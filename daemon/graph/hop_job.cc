// SPDX-License-Identifier: Apache-2.0
#include "daemon/graph/hop_job.h"

#include <algorithm>
#include <cstring>

#include "base/strings.h"
#include "sampling/rule_traits.h"
#include "wire/connection.h"
#include "wire/graph_messages.h"
#include "wire/hop_messages.h"

namespace graphd {
namespace {

void CheckCount(size_t count, const char* what) {
  if (count > HopJob::kMaxLists) {
    Throw(ErrorCode::kOverloaded, count, " ", what, " in one hop, at most ", HopJob::kMaxLists,
          " are accepted; split it into several");
  }
}

template <class T>
std::vector<T> CopyNumbers(capnp::Data::Reader data, size_t count, const char* what) {
  if (data.size() == 0) return {};
  if (data.size() != count * sizeof(T)) {
    Throw(ErrorCode::kInvalid, data.size(), " bytes of ", what, " for ", count, " seeds, expected ",
          count * sizeof(T));
  }
  std::vector<T> numbers(count);
  std::memcpy(numbers.data(), data.begin(), data.size());
  return numbers;
}

// Returns the number of seeds of a slice. A small request is not cut, because waking another thread
// for it costs more than it saves.
size_t SliceSeeds(size_t count, size_t fanout) {
  const size_t seeds = std::clamp(HopJob::kSliceEdges / (fanout + 1), HopJob::kMinSliceSeeds,
                                  HopJob::kMaxSliceSeeds);
  return count < 2 * seeds ? std::min(2 * seeds, HopJob::kMaxSliceSeeds) : seeds;
}

}  // namespace

HopJob::HopJob(std::shared_ptr<const Partition> partition, std::shared_ptr<EdgeIndexes> indexes,
               std::shared_ptr<BufferPool> buffers, wire::Session::HopParams::Reader params)
    : partition_(std::move(partition)),
      indexes_(std::move(indexes)),
      buffers_(std::move(buffers)),
      copies_(buffers_->account()) {
  AddSeeds(params);
  AddRules(params);
  AddRows(params);
}

void HopJob::AddSeeds(wire::Session::HopParams::Reader params) {
  const GraphMeta& meta = partition_->meta();
  CheckCount(params.getSeeds().size(), "lists of seeds");
  size_t total = 0;
  for (auto in : params.getSeeds()) {
    const ReceivedSeeds list = ReadSeeds(in);
    const NodeTypeId ntype = list.ntype;
    CheckType(ntype, meta.schema.num_ntypes(), "node");
    // The size is checked before the ids are copied, because a message can name the same ids in
    // many lists.
    const int64_t nodes = meta.book.nodes().count(ntype);
    total += list.ids.size() / IdBytes(nodes);
    if (total > kMaxIds) {
      Throw(ErrorCode::kOverloaded, total, " seeds in one hop, at most ", kMaxIds,
            " are accepted; split it into several");
    }
    copies_.Add(list.streams.size() + list.times.size());
    SeedWork seeds{ntype, WireIds(list.ids, nodes, *buffers_), {}, {}};
    seeds.streams = CopyNumbers<uint32_t>(list.streams, seeds.ids.size(), "streams");
    seeds.times = CopyNumbers<uint64_t>(list.times, seeds.ids.size(), "times");
    seeds_.push_back(std::move(seeds));
  }
}

void HopJob::AddRules(wire::Session::HopParams::Reader params) {
  const GraphMeta& meta = partition_->meta();
  // Each call of getRules counts all rules against the limit of what may be visited.
  const auto rules = params.getRules();
  CheckCount(rules.size(), "sampling rules");
  size_t counts = 0;
  for (auto in : rules) {
    ReceivedRule received = ReadRule(in);
    RuleWork work{};
    work.applied = std::move(received.applied);
    AppliedRule& applied = work.applied;
    const SamplingRule& rule = applied.rule;
    CheckType(rule.etype, meta.schema.num_etypes(), "edge");
    CheckSamplingRule(meta.schema, rule, partition_->edge_features(rule.etype));
    if (applied.seeds >= seeds_.size()) {
      Throw(ErrorCode::kInvalid, "a rule names list ", applied.seeds, " of ", seeds_.size());
    }
    const SeedWork& seeds = seeds_[applied.seeds];
    if (seeds.ntype != SeedType(meta.schema, rule)) {
      Throw(ErrorCode::kInvalid, "edge type ", rule.etype, " does not touch seeds of node type ",
            seeds.ntype);
    }
    const NodeTypeId neighbors = NeighborType(meta.schema, rule);
    work.narrow = IdBytes(meta.book.nodes().count(neighbors)) == 4;
    work.edge_width = IdBytes(meta.book.edges().count(rule.etype));
    if (received.exclude.size() > 0) {
      work.excluded = WireIds(received.exclude, meta.book.edges().count(rule.etype), *buffers_);
    }
    copies_.Add(work.excluded.size() * sizeof(int64_t));
    num_excluded_ += work.excluded.size();
    if (num_excluded_ > kMaxIds) {
      Throw(ErrorCode::kOverloaded, num_excluded_, " excluded edges in one hop, at most ", kMaxIds,
            " are accepted; split it into several");
    }
    const size_t count = seeds.ids.size();
    // The answer has a count for each seed, even if no edge is found. Its size is therefore checked
    // before slices are made.
    counts += count;
    CheckResponse(counts * sizeof(uint32_t));
    const auto fanout = static_cast<size_t>(std::max(rule.fanout, 0));
    // With replacement, any number of edges can be drawn from a row. The size of the answer is
    // therefore checked before slices are made.
    if (rule.replace && fanout > kMaxResponseBytes / 4 / std::max<size_t>(count, 1)) {
      Throw(ErrorCode::kOverloaded, "fanout ", fanout, " for ", count,
            " seeds exceeds what one answer may hold; ask for fewer seeds at once");
    }
    // In these cases, the number of neighbours is not known before the edges have been read.
    const bool unknown = rule.fanout < 0 || rule.method != SamplingMethod::kUniform;
    if (IsTemporal(rule.method) && count > 0 && seeds.times.empty()) {
      Throw(ErrorCode::kInvalid, "temporal sampling needs the seeds' times");
    }
    if (unknown && count > 0) {
      work_ = SIZE_MAX;
    } else if (work_ != SIZE_MAX) {
      work_ += count * (std::min(fanout, size_t{1} << 20) + 1) * 64;
    }
    work.first_slice = slices_.size();
    const size_t step = std::max(rule.fanout < 0 ? kMaxSliceSeeds / 4 : SliceSeeds(count, fanout),
                                 count * rules.size() / kMaxSlices);
    copies_.Add((count + step - 1) / step * sizeof(Slice));
    for (size_t begin = 0; begin < count; begin += step) {
      slices_.push_back({false,
                         rules_.size(),
                         begin,
                         std::min(count, begin + step),
                         {},
                         {},
                         MemoryCharge(buffers_->account())});
    }
    work.num_slices = slices_.size() - work.first_slice;
    rules_.push_back(std::move(work));
  }
}

void HopJob::PrepareExcluded(size_t rule) {
  RuleWork& work = rules_[rule];
  const EdgeMap& edges = partition_->meta().book.edges();
  const EdgeTypeId etype = work.applied.rule.etype;
  // The first copy only checks that the partition owns the edges; the second one stores their ids.
  work.excluded.CopyRows(0, work.excluded.size(), {edges, etype}, partition_->id(), work.exclude);
  work.excluded.Copy(0, work.excluded.size(), edges.count(etype), work.exclude);
  if (!std::is_sorted(work.exclude.begin(), work.exclude.end())) {
    Throw(ErrorCode::kInvalid, "excluded edges must ascend");
  }
  work.applied.exclude = work.exclude;
}

void HopJob::AddRows(wire::Session::HopParams::Reader params) {
  CheckCount(params.getRows().size(), "features");
  encoded_ = params.getTakesEncoded();
  for (auto in : params.getRows()) {
    const SeedRows wanted = ReadSeedRows(in);
    const size_t list = wanted.seeds, begin = wanted.begin;
    if (list >= seeds_.size() || begin > seeds_[list].ids.size()) {
      Throw(ErrorCode::kInvalid, "rows of list ", list, " from seed ", begin,
            " on are asked for; there are ", seeds_.size(), " lists",
            list < seeds_.size() ? StrCat(", of ", seeds_[list].ids.size(), " seeds") : "");
    }
    const SentRows table(FindFeature(*partition_, false, seeds_[list].ntype, wanted.name),
                         encoded_);
    const size_t count = seeds_[list].ids.size() - begin;
    const size_t bytes = count * table.row_bytes();
    CheckResponse(bytes);
    row_bytes_ += bytes;
    num_rows_ += count;
    CheckResponse(row_bytes_);
    if (work_ != SIZE_MAX) work_ += bytes + count * 64;
    const size_t step =
        std::max<size_t>(1, kSliceRowBytes / std::max<size_t>(table.row_bytes(), 1));
    for (size_t at = begin; at < begin + count; at += step) {
      slices_.push_back({true, rows_.size(), at, std::min(begin + count, at + step), {}, {}, {}});
    }
    rows_.push_back({list, begin, table, buffers_->Get(bytes + 8), bytes});
  }
}

std::vector<EdgeIndexSpec> HopJob::MissingIndexes() const {
  std::vector<EdgeIndexSpec> missing;
  for (const RuleWork& work : rules_) {
    for (const EdgeIndexSpec& spec : IndexesOf(work.applied.rule)) {
      if (work.num_slices > 0 && !indexes_->Has(spec)) missing.push_back(spec);
    }
  }
  return missing;
}

void HopJob::RunSlice(size_t index, WorkerScratch& scratch) {
  Slice& slice = slices_[index];
  if (slice.is_rows) return RunRows(slice, scratch);
  if (rules_[slice.work].narrow) {
    RunRule(slice, slice.narrow, scratch);
  } else {
    RunRule(slice, slice.wide, scratch);
  }
}

void HopJob::RunRows(const Slice& slice, WorkerScratch& scratch) {
  const RowWork& work = rows_[slice.work];
  const SeedWork& seeds = seeds_[work.seeds];
  seeds.ids.CopyRows(slice.begin, slice.end, {partition_->meta().book.nodes(), seeds.ntype},
                     partition_->id(), scratch.rows);
  const size_t row_bytes = work.table.row_bytes();
  // No other slice writes to this part of the buffer.
  std::byte* out = const_cast<std::byte*>(work.out.data()) + (slice.begin - work.begin) * row_bytes;
  work.table.Gather(scratch.rows, out);
}

template <class Id>
void HopJob::RunRule(Slice& slice, SampledEdges<Id>& out, WorkerScratch& scratch) {
  const RuleWork& work = rules_[slice.work];
  const SeedWork& seeds = seeds_[work.applied.seeds];
  const NodeMap& nodes = partition_->meta().book.nodes();
  if (work.applied.rule.direction == Direction::kIn) {  // checks that the partition owns them
    seeds.ids.CopyRows(slice.begin, slice.end, {nodes, seeds.ntype}, partition_->id(),
                       scratch.rows);
  }
  seeds.ids.Copy(slice.begin, slice.end, nodes.count(seeds.ntype), scratch.ids);
  HopSeeds part{scratch.ids};
  if (!seeds.streams.empty()) {
    scratch.streams.assign(seeds.streams.begin() + static_cast<ptrdiff_t>(slice.begin),
                           seeds.streams.begin() + static_cast<ptrdiff_t>(slice.end));
    part.streams = scratch.streams;
  }
  if (!seeds.times.empty()) {
    const uint64_t* times = seeds.times.data() + slice.begin;
    const size_t count = slice.end - slice.begin;
    // Both forms of the times are passed on. The dtype of the rule's column decides which one is
    // used.
    part.times = {reinterpret_cast<const int64_t*>(times), count};
    scratch.real_times.resize(count);
    std::memcpy(scratch.real_times.data(), times, count * sizeof(double));
    part.real_times = scratch.real_times;
  }
  const size_t edge_bytes =
      sizeof(Id) + (work.applied.edge_ids ? work.edge_width : 0) +
      (work.applied.rule.direction == Direction::kOut ? sizeof(ArrivalKey) : 0);
  // An upper bound is reserved until the exact size is known, because other slices of the job
  // reserve room at the same time.
  size_t reserved = 0;
  const auto admit = [&](uint64_t edges) {
    reserved = edges * edge_bytes;
    CheckResponse(answer_bytes_.fetch_add(reserved) + reserved + row_bytes_);
    slice.charge.Add(reserved);
  };
  scratch.hop_sampler.Run(*partition_, *indexes_, work.applied, part, out, admit);
  answer_bytes_ -= reserved - out.neighbors.size() * edge_bytes;
  slice.charge.Set(out.neighbors.size() * edge_bytes);
  const size_t counts = out.counts.size() * sizeof(uint32_t);
  CheckResponse(answer_bytes_.fetch_add(counts) + counts + row_bytes_);
}

void HopJob::Join(size_t rule) {
  RuleWork& work = rules_[rule];
  if (work.narrow) return JoinSlices(work, &Slice::narrow);
  JoinSlices(work, &Slice::wide);
}

template <class Id>
void HopJob::JoinSlices(RuleWork& work, SampledEdges<Id> Slice::*sampled) {
  size_t seeds = 0, edges = 0, keys = 0;
  uint32_t largest = 0;
  const std::span<Slice> slices(slices_.data() + work.first_slice, work.num_slices);
  for (const Slice& slice : slices) {
    seeds += (slice.*sampled).counts.size();
    edges += (slice.*sampled).neighbors.size();
    keys += (slice.*sampled).arrival_keys.size();
    for (uint32_t count : (slice.*sampled).counts) largest = std::max(largest, count);
  }
  const uint8_t width = WidthFor(largest);
  AnswerWriter counts(*buffers_, seeds * width), neighbors(*buffers_, edges * sizeof(Id)),
      ids(*buffers_, work.applied.edge_ids ? edges * work.edge_width : 0),
      arrivals(*buffers_, keys * sizeof(ArrivalKey));
  for (const Slice& slice : slices) {
    const SampledEdges<Id>& some = slice.*sampled;
    WriteNarrow(some.counts, width, reinterpret_cast<kj::byte*>(counts.next()));
    counts.Advance(some.counts.size() * width);
    neighbors.Append(some.neighbors.data(), some.neighbors.size() * sizeof(Id));
    arrivals.Append(some.arrival_keys.data(), some.arrival_keys.size() * sizeof(ArrivalKey));
    if (!work.applied.edge_ids) continue;
    if (work.edge_width == 8) {
      ids.Append(some.edge_ids.data(), some.edge_ids.size() * 8);
    } else {
      auto* to = reinterpret_cast<uint32_t*>(ids.next());
      for (int64_t id : some.edge_ids) *to++ = static_cast<uint32_t>(id);
      ids.Advance(some.edge_ids.size() * 4);
    }
  }
  edges_ += edges;
  work.joined =
      Joined{width, std::move(counts), std::move(neighbors), std::move(ids), std::move(arrivals)};
}

capnp::MessageSize HopJob::message_size() const {
  // An array by reference takes up to three words: a pointer and the two that it leads to.
  constexpr size_t kRuleWords = 16, kRowWords = 4;
  return {std::min<uint64_t>(answer_bytes_, AnswerArrays::kMaxCopied) / 8 + 64 +
              rules_.size() * kRuleWords + rows_.size() * kRowWords,
          0};
}

void HopJob::Write(wire::Session::HopResults::Builder results, const AnswerWriter::Send& send) {
  AnswerArrays arrays(*buffers_, capnp::Orphanage::getForMessageContaining(results), send);
  auto samples = results.initSamples(static_cast<kj::uint>(rules_.size()));
  for (kj::uint i = 0; i < samples.size(); i++) {
    auto out = samples[i];
    Joined& joined = *rules_[i].joined;
    out.setCountBytes(joined.count_width);
    arrays.Put(
        std::move(joined.counts), [&](kj::uint n) { return out.initCounts(n); },
        [&](auto orphan) { out.adoptCounts(kj::mv(orphan)); });
    arrays.Put(
        std::move(joined.neighbors), [&](kj::uint n) { return out.initNeighbors(n); },
        [&](auto orphan) { out.adoptNeighbors(kj::mv(orphan)); });
    arrays.Put(
        std::move(joined.ids), [&](kj::uint n) { return out.initEdges(n); },
        [&](auto orphan) { out.adoptEdges(kj::mv(orphan)); });
    arrays.Put(
        std::move(joined.arrivals), [&](kj::uint n) { return out.initArrivalKeys(n); },
        [&](auto orphan) { out.adoptArrivalKeys(kj::mv(orphan)); });
  }
  results.setEncoded(encoded_);
  auto rows = results.initRows(static_cast<kj::uint>(rows_.size()));
  for (kj::uint i = 0; i < rows.size(); i++) {
    if (rows_[i].bytes > 0) rows.adopt(i, send(std::move(rows_[i].out), rows_[i].bytes));
  }
}

}  // namespace graphd
