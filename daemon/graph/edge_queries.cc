// SPDX-License-Identifier: Apache-2.0
#include "daemon/graph/edge_queries.h"

#include <algorithm>
#include <cstring>
#include <initializer_list>

#include "base/strings.h"
#include "daemon/graph/index_builds.h"
#include "daemon/requests/segment_handle.h"
#include "daemon/requests/wire_ids.h"
#include "sampling/edge_query.h"
#include "sampling/slots.h"
#include "wire/graph_messages.h"

namespace graphd {
namespace {

// The largest number of edges in one answer of `induced`.
constexpr size_t kMaxInduced = kMaxResponseBytes / 16;

// The number of ids in a slice of a request that answers each id by itself. A slice then takes a
// millisecond or less.
constexpr size_t kSliceIds = 16384;

size_t NumSlices(size_t ids) { return (ids + kSliceIds - 1) / kSliceIds; }

// Writes ids in `width` bytes each.
void Write(std::span<const int64_t> ids, size_t width, std::byte* to) {
  if (width == 8) {
    if (!ids.empty()) std::memcpy(to, ids.data(), ids.size_bytes());
    return;
  }
  for (size_t i = 0; i < ids.size(); i++) {
    const auto id = static_cast<uint32_t>(ids[i]);
    std::memcpy(to + i * 4, &id, 4);
  }
}

// Packs ids into `width` bytes each.
AnswerWriter Pack(BufferPool& pool, std::span<const int64_t> ids, size_t width) {
  CheckResponse(ids.size() * width);
  AnswerWriter out(pool, ids.size() * width);
  Write(ids, width, out.next());
  return out;
}

// Packs numbers in the width of their type.
template <class T>
AnswerWriter Pack(BufferPool& pool, const std::vector<T>& numbers) {
  const size_t bytes = numbers.size() * sizeof(T);
  CheckResponse(bytes);
  AnswerWriter out(pool, bytes);
  out.Append(numbers.data(), bytes);
  return out;
}

// The arrays of an answer. The threads that compute an answer pack them; slices write to different
// parts.
using Packed = std::vector<AnswerWriter>;

// Returns memory for arrays of `count` numbers, which have these widths.
Packed Reserve(BufferPool& pool, size_t count, std::initializer_list<size_t> widths) {
  Packed packed;
  for (const size_t width : widths) {
    CheckResponse(count * width);
    packed.emplace_back(pool, count * width);
  }
  return packed;
}

size_t BytesOf(const Packed& packed) {
  size_t bytes = 0;
  for (const AnswerWriter& array : packed) bytes += array.bytes();
  return bytes;
}

// The two functions that set a data field of an answer: `init` makes room for its bytes, and
// `adopt` takes an orphan.
template <class Results>
struct DataField {
  capnp::Data::Builder (Results::*init)(kj::uint);
  void (Results::*adopt)(capnp::Orphan<capnp::Data>&&);
};

// Answers a call: writes each packed array to its field of the results.
template <class Results, class Context>
void Answer(RequestContext& requests, Context& context, Packed& packed,
            std::initializer_list<DataField<Results>> fields) {
  AsKj([&] {
    Results results = context.getResults();
    const AnswerWriter::Send send =
        requests.Sender(capnp::Orphanage::getForMessageContaining(results), BytesOf(packed));
    size_t i = 0;
    for (const DataField<Results>& field : fields) {
      std::move(packed[i++])
          .Finish([&](kj::uint n) { return (results.*field.init)(n); },
                  [&](auto orphan) { (results.*field.adopt)(kj::mv(orphan)); }, send);
    }
  });
}

}  // namespace

kj::Promise<void> EdgeQueries::FindEdges(FindEdgesContext context, const RequestPtr& request) {
  auto params = context.getParams();
  const EdgeTypeId etype = params.getEtype();
  const ServedGraph::Found served = graph_.Find(params.getPart(), etype);
  const std::shared_ptr<const Partition>& partition = served.partition;
  const std::shared_ptr<EdgeIndexes>& indexes = served.indexes;
  const GraphMeta& meta = partition->meta();
  struct Job {
    WireIds ids;
    Packed out;
  };
  const NodeMap& nodes = meta.book.nodes();
  const NodeTypeId src_type = meta.schema.src_type(etype), dst_type = meta.schema.dst_type(etype);
  const size_t src_width = IdBytes(nodes.count(src_type));
  const size_t dst_width = IdBytes(nodes.count(dst_type));
  auto job = std::make_shared<Job>(
      Job{WireIds(params.getIds(), meta.book.edges().count(etype), *requests_.buffers()), {}});
  job->out = Reserve(*requests_.buffers(), job->ids.size(), {src_width, dst_width});
  context.releaseParams();
  std::vector<EdgeIndexSpec> missing;
  const EdgeIndexSpec inverse{EdgeIndexKind::kInverse, false, etype, ""};
  if (partition->csc(etype).edge_rows && !indexes->Has(inverse)) missing.push_back(inverse);
  auto run = [=](size_t slice, WorkerScratch& scratch) {
    const size_t begin = slice * kSliceIds;
    const size_t end = std::min(job->ids.size(), begin + kSliceIds), count = end - begin;
    const PartitionBook& book = partition->meta().book;
    std::vector<int64_t> src(count), dst(count);
    job->ids.CopyRows(begin, end, {book.edges(), etype}, partition->id(), scratch.rows);
    graphd::FindEdges(partition->csc(etype), indexes->Inverse(etype).get(), scratch.rows, src, dst);
    for (int64_t& row : dst) row = book.nodes().FromLocalRow(partition->id(), dst_type, row);
    Write(src, src_width, job->out[0].next() + begin * src_width);
    Write(dst, dst_width, job->out[1].next() + begin * dst_width);
  };
  request->SetState(RequestState::kWaitsForIndex);
  return BuildIndexes(requests_.pools().builds, requests_.job(), indexes, missing)
      .then([this, job, run, request] {
        return requests_.Execute(request, job->ids.size() * 256, NumSlices(job->ids.size()), run);
      })
      .then([this, context, job]() mutable {
        using Results = wire::Session::FindEdgesResults::Builder;
        Answer<Results>(
            requests_, context, job->out,
            {{&Results::initSrc, &Results::adoptSrc}, {&Results::initDst, &Results::adoptDst}});
      });
}

kj::Promise<void> EdgeQueries::HasEdges(HasEdgesContext context, const RequestPtr& request) {
  auto params = context.getParams();
  const EdgeTypeId etype = params.getEtype();
  const ServedGraph::Found served = graph_.Find(params.getPart(), etype);
  const std::shared_ptr<const Partition>& partition = served.partition;
  const std::shared_ptr<EdgeIndexes>& indexes = served.indexes;
  const GraphMeta& meta = partition->meta();
  const NodeMap& nodes = meta.book.nodes();
  const NodeTypeId src = meta.schema.src_type(etype), dst = meta.schema.dst_type(etype);
  struct Job {
    WireIds src, dst;
    Packed out;
  };
  auto job =
      std::make_shared<Job>(Job{WireIds(params.getSrc(), nodes.count(src), *requests_.buffers()),
                                WireIds(params.getDst(), nodes.count(dst), *requests_.buffers()),
                                {}});
  if (job->src.size() != job->dst.size()) {
    Throw(ErrorCode::kInvalid, job->src.size(), " sources, but ", job->dst.size(), " destinations");
  }
  job->out = Reserve(*requests_.buffers(), job->src.size(), {1});
  context.releaseParams();
  auto run = [=](size_t slice, WorkerScratch& scratch) {
    const size_t begin = slice * kSliceIds, end = std::min(job->src.size(), begin + kSliceIds);
    const NodeMap& of = partition->meta().book.nodes();
    job->dst.CopyRows(begin, end, {of, dst}, partition->id(), scratch.rows);
    job->src.Copy(begin, end, of.count(src), scratch.ids);
    auto* const found = reinterpret_cast<uint8_t*>(job->out[0].next()) + begin;
    graphd::HasEdges(partition->csc(etype), indexes->Sorted(etype).get(), scratch.rows, scratch.ids,
                     {found, end - begin});
  };
  request->SetState(RequestState::kWaitsForIndex);
  return BuildSorted(requests_.pools().builds, requests_.job(), indexes, etype)
      .then([this, job, run, request] {
        return requests_.Execute(request, job->src.size() * 512, NumSlices(job->src.size()), run);
      })
      .then([this, context, job]() mutable {
        using Results = wire::Session::HasEdgesResults::Builder;
        Answer<Results>(requests_, context, job->out,
                        {{&Results::initFound, &Results::adoptFound}});
      });
}

kj::Promise<void> EdgeQueries::Degrees(DegreesContext context, const RequestPtr& request) {
  auto params = context.getParams();
  const EdgeTypeId etype = params.getEtype();
  const bool out = params.getOutward();
  const ServedGraph::Found served = graph_.Find(params.getPart(), etype);
  const std::shared_ptr<const Partition>& partition = served.partition;
  const std::shared_ptr<EdgeIndexes>& indexes = served.indexes;
  const GraphMeta& meta = partition->meta();
  const NodeTypeId type = out ? meta.schema.src_type(etype) : meta.schema.dst_type(etype);
  struct Job {
    WireIds ids;
    Packed out;
  };
  auto job = std::make_shared<Job>(
      Job{WireIds(params.getIds(), meta.book.nodes().count(type), *requests_.buffers()), {}});
  constexpr size_t kWidth = 4;  // a row has fewer than 2^32 edges
  job->out = Reserve(*requests_.buffers(), job->ids.size(), {kWidth});
  context.releaseParams();
  std::vector<EdgeIndexSpec> missing;
  const EdgeIndexSpec by_source{EdgeIndexKind::kOut, false, etype, ""};
  if (out && !indexes->Has(by_source)) missing.push_back(by_source);
  auto run = [=](size_t slice, WorkerScratch& scratch) {
    const NodeMap& nodes = partition->meta().book.nodes();
    const size_t begin = slice * kSliceIds, end = std::min(job->ids.size(), begin + kSliceIds);
    if (out) {
      job->ids.Copy(begin, end, nodes.count(type), scratch.ids);
      scratch.rows.resize(end - begin);
      indexes->Out(etype)->RowsOf(scratch.ids, scratch.rows);
    } else {
      job->ids.CopyRows(begin, end, {nodes, type}, partition->id(), scratch.rows);
    }
    std::vector<int64_t> counts(end - begin);
    graphd::Degrees(*indexes->Rows(etype, out), scratch.rows, counts);
    Write(counts, kWidth, job->out[0].next() + begin * kWidth);
  };
  request->SetState(RequestState::kWaitsForIndex);
  return BuildIndexes(requests_.pools().builds, requests_.job(), indexes, missing)
      .then([this, job, run, request] {
        return requests_.Execute(request, job->ids.size() * 64, NumSlices(job->ids.size()), run);
      })
      .then([this, context, job]() mutable {
        using Results = wire::Session::DegreesResults::Builder;
        Answer<Results>(requests_, context, job->out,
                        {{&Results::initCounts, &Results::adoptCounts}});
      });
}

kj::Promise<void> EdgeQueries::Induced(InducedContext context, const RequestPtr& request) {
  auto params = context.getParams();
  const EdgeTypeId etype = params.getEtype();
  const ServedGraph::Found served = graph_.Find(params.getPart(), etype);
  const std::shared_ptr<const Partition>& partition = served.partition;
  const std::shared_ptr<EdgeIndexes>& indexes = served.indexes;
  const GraphMeta& meta = partition->meta();
  const NodeMap& nodes = meta.book.nodes();
  const NodeTypeId src = meta.schema.src_type(etype), dst = meta.schema.dst_type(etype);
  struct Job {
    WireIds seeds, members;
    Packed out;
  };
  auto job = std::make_shared<Job>(
      Job{WireIds(params.getSeeds(), nodes.count(dst), *requests_.buffers()),
          WireIds(params.getMembers(), nodes.count(src), *requests_.buffers()),
          {}});
  context.releaseParams();
  auto run = [=, buffers = requests_.buffers()](size_t, WorkerScratch& scratch) {
    const PartitionBook& book = partition->meta().book;
    job->seeds.CopyRows(0, job->seeds.size(), {book.nodes(), dst}, partition->id(), scratch.rows);
    std::vector<int64_t>& ids = scratch.ids;
    job->members.Copy(0, job->members.size(), book.nodes().count(src), ids);
    for (size_t i = 1; i < ids.size(); i++) {
      if (ids[i - 1] >= ids[i]) {
        Throw(ErrorCode::kInvalid, "members must ascend: ", ids[i], " follows ", ids[i - 1]);
      }
    }
    const Csc& csc = partition->csc(etype);
    InducedEdges edges;
    FindInducedEdges(csc, indexes->Sorted(etype).get(), scratch.rows, ids, edges, kMaxInduced);
    std::vector<int64_t> edge_ids(edges.slots.size());
    WriteEdgeIds(*partition, etype, csc, edges.slots, edge_ids.data());
    job->out.push_back(Pack(*buffers, edges.counts));
    job->out.push_back(Pack(*buffers, edges.positions));
    job->out.push_back(Pack(*buffers, edge_ids, IdBytes(book.edges().count(etype))));
  };
  request->SetState(RequestState::kWaitsForIndex);
  return BuildSorted(requests_.pools().builds, requests_.job(), indexes, etype)
      .then([this, run, request] { return requests_.Execute(request, SIZE_MAX, 1, run); })
      .then([this, context, job]() mutable {
        using Results = wire::Session::InducedResults::Builder;
        Answer<Results>(requests_, context, job->out,
                        {{&Results::initCounts, &Results::adoptCounts},
                         {&Results::initIndices, &Results::adoptIndices},
                         {&Results::initEdges, &Results::adoptEdges}});
      });
}

kj::Promise<void> EdgeQueries::EdgeIndex(EdgeIndexContext context, const RequestPtr& request) {
  requests_.RequireUnixSocket();
  auto params = context.getParams();
  auto partition = graph_.Find(params.getPart());
  auto indexes = graph_.indexes(params.getPart());
  auto in = params.getIndex();
  if (in.getKind() > static_cast<uint8_t>(EdgeIndexKind::kSorted)) {
    Throw(ErrorCode::kInvalid, "there is no index of kind ", in.getKind());
  }
  const EdgeIndexSpec spec{static_cast<EdgeIndexKind>(in.getKind()), in.getOutward(), in.getEtype(),
                           ReadFeatureName(in.getColumn())};
  CheckEdgeIndexSpec(*partition, spec);
  context.releaseParams();
  std::vector<EdgeIndexSpec> missing;
  if (!indexes->Has(spec)) missing.push_back(spec);
  request->SetState(RequestState::kWaitsForIndex);
  return BuildIndexes(requests_.pools().builds, requests_.job(), indexes, missing)
      .then([this, context, indexes, spec]() mutable {
        AsKj([&] {
          auto count = requests_.CountCapability();
          auto segment = indexes->Get(spec);
          auto out = context.getResults().initSegment();
          WriteLayout(segment->layout(), out);
          const int fd = segment->fd();
          out.setHandle(
              kj::heap<SegmentHandleImpl>(std::move(segment), fd).attach(std::move(count)));
        });
      });
}

}  // namespace graphd
