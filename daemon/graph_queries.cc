// SPDX-License-Identifier: Apache-2.0
// Questions about edges: where they are, whether they are, how many. Each is one slice of work.
#include <cstring>

#include "base/strings.h"
#include "daemon/graph_session.h"
#include "daemon/segment_handle.h"
#include "daemon/wire_ids.h"
#include "sampling/edge_query.h"
#include "sampling/slots.h"
#include "wire/convert.h"

namespace graphd {
namespace {

// Edges that one answer of `induced` may have.
constexpr size_t kMaxInduced = kMaxResponseBytes / 16;

void WriteIds(std::span<const int64_t> ids, size_t width, kj::byte* to) {
  if (width == 8) {
    if (!ids.empty()) std::memcpy(to, ids.data(), ids.size_bytes());
    return;
  }
  for (size_t i = 0; i < ids.size(); i++) {
    const auto id = static_cast<uint32_t>(ids[i]);
    std::memcpy(to + i * 4, &id, 4);
  }
}

kj::uint Bytes(size_t count, size_t width) {
  CheckResponse(count * width);
  return static_cast<kj::uint>(count * width);
}

}  // namespace

kj::Promise<void> GraphSession::findEdges(FindEdgesContext context) {
  return Guarded(context, [&]() -> kj::Promise<void> {
    auto params = context.getParams();
    const EdgeTypeId etype = params.getEtype();
    const auto [partition, indexes] = context_.graph.Find(params.getPart(), etype);
    const GraphMeta& meta = partition->meta();
    struct Job {
      WireIds ids;
      std::vector<int64_t> rows, src, dst;
    };
    auto job = std::make_shared<Job>(Job{
        WireIds(params.getIds(), meta.book.edges().count(etype), *context_.buffers), {}, {}, {}});
    context.releaseParams();
    std::vector<EdgeIndexSpec> missing;
    const EdgeIndexSpec inverse{EdgeIndexKind::kInverse, false, etype, ""};
    if (partition->csc(etype).edge_rows && !indexes->Has(inverse)) missing.push_back(inverse);
    auto run = [=](size_t, WorkerScratch&) {
      const size_t count = job->ids.size();
      const PartId part = partition->id();
      const GraphMeta& of = partition->meta();
      job->ids.CopyRows(0, count, of.book.edges(), part, etype, job->rows);
      job->src.resize(count);
      job->dst.resize(count);
      FindEdges(partition->csc(etype), indexes->Inverse(etype), job->rows, job->src, job->dst);
      const NodeTypeId dst_type = of.schema.dst_type(etype);
      for (int64_t& row : job->dst) row = of.book.nodes().FromLocalRow(part, dst_type, row);
    };
    return MakeIndexes(indexes, missing)
        .then([this, job, run] { return Execute(job->ids.size() * 256, 1, run); })
        .then([context, job, partition, etype]() mutable {
          AsKj([&] {
            const GraphMeta& of = partition->meta();
            const size_t src = IdBytes(of.book.nodes().count(of.schema.src_type(etype)));
            const size_t dst = IdBytes(of.book.nodes().count(of.schema.dst_type(etype)));
            auto results = context.getResults();
            WriteIds(job->src, src, results.initSrc(Bytes(job->src.size(), src)).begin());
            WriteIds(job->dst, dst, results.initDst(Bytes(job->dst.size(), dst)).begin());
          });
        });
  });
}

kj::Promise<void> GraphSession::hasEdges(HasEdgesContext context) {
  return Guarded(context, [&]() -> kj::Promise<void> {
    auto params = context.getParams();
    const EdgeTypeId etype = params.getEtype();
    const auto [partition, indexes] = context_.graph.Find(params.getPart(), etype);
    const GraphMeta& meta = partition->meta();
    const IdMap& nodes = meta.book.nodes();
    const NodeTypeId src = meta.schema.src_type(etype), dst = meta.schema.dst_type(etype);
    struct Job {
      WireIds src, dst;
      std::vector<int64_t> rows, sources;
      std::vector<uint8_t> found;
    };
    auto job =
        std::make_shared<Job>(Job{WireIds(params.getSrc(), nodes.count(src), *context_.buffers),
                                  WireIds(params.getDst(), nodes.count(dst), *context_.buffers),
                                  {},
                                  {},
                                  {}});
    if (job->src.size() != job->dst.size()) {
      Throw(ErrorCode::kInvalid, job->src.size(), " sources, but ", job->dst.size(),
            " destinations");
    }
    context.releaseParams();
    auto run = [=](size_t, WorkerScratch&) {
      const size_t count = job->src.size();
      job->dst.CopyRows(0, count, partition->meta().book.nodes(), partition->id(), dst, job->rows);
      job->src.Copy(0, count, partition->meta().book.nodes().count(src), job->sources);
      job->found.resize(count);
      HasEdges(partition->csc(etype), indexes->Sorted(etype), job->rows, job->sources, job->found);
    };
    return MakeSorted(indexes, etype)
        .then([this, job, run] { return Execute(job->src.size() * 512, 1, run); })
        .then([context, job]() mutable {
          AsKj([&] {
            auto found = context.getResults().initFound(Bytes(job->found.size(), 1));
            if (found.size() > 0) std::memcpy(found.begin(), job->found.data(), found.size());
          });
        });
  });
}

kj::Promise<void> GraphSession::degrees(DegreesContext context) {
  return Guarded(context, [&]() -> kj::Promise<void> {
    auto params = context.getParams();
    const EdgeTypeId etype = params.getEtype();
    const bool out = params.getOutward();
    const auto [partition, indexes] = context_.graph.Find(params.getPart(), etype);
    const GraphMeta& meta = partition->meta();
    const NodeTypeId type = out ? meta.schema.src_type(etype) : meta.schema.dst_type(etype);
    struct Job {
      WireIds ids;
      std::vector<int64_t> rows, counts;
    };
    auto job = std::make_shared<Job>(
        Job{WireIds(params.getIds(), meta.book.nodes().count(type), *context_.buffers), {}, {}});
    context.releaseParams();
    std::vector<EdgeIndexSpec> missing;
    const EdgeIndexSpec by_source{EdgeIndexKind::kOut, false, etype, ""};
    if (out && !indexes->Has(by_source)) missing.push_back(by_source);
    auto run = [=](size_t, WorkerScratch& scratch) {
      const IdMap& nodes = partition->meta().book.nodes();
      const size_t count = job->ids.size();
      if (out) {
        job->ids.Copy(0, count, nodes.count(type), scratch.ids);
        job->rows.resize(count);
        indexes->Out(etype).RowsOf(scratch.ids, job->rows);
      } else {
        job->ids.CopyRows(0, count, nodes, partition->id(), type, job->rows);
      }
      job->counts.resize(count);
      Degrees(indexes->Rows(etype, out), job->rows, job->counts);
    };
    return MakeIndexes(indexes, missing)
        .then([this, job, run] { return Execute(job->ids.size() * 64, 1, run); })
        .then([context, job]() mutable {
          AsKj([&] {
            auto counts = context.getResults().initCounts(Bytes(job->counts.size(), 4));
            WriteIds(job->counts, 4, counts.begin());  // a row has fewer than 2^32 edges
          });
        });
  });
}

kj::Promise<void> GraphSession::induced(InducedContext context) {
  return Guarded(context, [&]() -> kj::Promise<void> {
    auto params = context.getParams();
    const EdgeTypeId etype = params.getEtype();
    const auto [partition, indexes] = context_.graph.Find(params.getPart(), etype);
    const GraphMeta& meta = partition->meta();
    const IdMap& nodes = meta.book.nodes();
    const NodeTypeId src = meta.schema.src_type(etype), dst = meta.schema.dst_type(etype);
    struct Job {
      WireIds seeds, members;
      std::vector<int64_t> rows, ids, edge_ids;
      InducedEdges edges;
    };
    auto job =
        std::make_shared<Job>(Job{WireIds(params.getSeeds(), nodes.count(dst), *context_.buffers),
                                  WireIds(params.getMembers(), nodes.count(src), *context_.buffers),
                                  {},
                                  {},
                                  {},
                                  {}});
    context.releaseParams();
    auto run = [=](size_t, WorkerScratch&) {
      const PartitionBook& book = partition->meta().book;
      job->seeds.CopyRows(0, job->seeds.size(), book.nodes(), partition->id(), dst, job->rows);
      job->members.Copy(0, job->members.size(), book.nodes().count(src), job->ids);
      for (size_t i = 1; i < job->ids.size(); i++) {
        if (job->ids[i - 1] >= job->ids[i]) {
          Throw(ErrorCode::kInvalid, "members must ascend: ", job->ids[i], " follows ",
                job->ids[i - 1]);
        }
      }
      const Csc& csc = partition->csc(etype);
      FindInducedEdges(csc, indexes->Sorted(etype), job->rows, job->ids, job->edges, kMaxInduced);
      job->edge_ids.resize(job->edges.slots.size());
      WriteEdgeIds(*partition, etype, csc, job->edges.slots, job->edge_ids.data());
    };
    return MakeSorted(indexes, etype)
        .then([this, run] { return Execute(SIZE_MAX, 1, run); })
        .then([context, job, partition, etype]() mutable {
          AsKj([&] {
            const size_t width = IdBytes(partition->meta().book.edges().count(etype));
            auto results = context.getResults();
            const InducedEdges& edges = job->edges;
            auto counts = results.initCounts(Bytes(edges.counts.size(), 4));
            auto indices = results.initIndices(Bytes(edges.positions.size(), 4));
            WriteNarrow(edges.counts, 4, counts.begin());
            WriteNarrow(edges.positions, 4, indices.begin());
            WriteIds(job->edge_ids, width,
                     results.initEdges(Bytes(job->edge_ids.size(), width)).begin());
          });
        });
  });
}

kj::Promise<void> GraphSession::MakeSorted(std::shared_ptr<EdgeIndexes> indexes, EdgeTypeId etype) {
  if (indexes->KnowsSorted(etype)) return kj::READY_NOW;
  return context_.builds.Run(1,
                             [indexes, etype](size_t, WorkerScratch&) { indexes->Sorted(etype); });
}

kj::Promise<void> GraphSession::edgeIndex(EdgeIndexContext context) {
  return Guarded(context, [&]() -> kj::Promise<void> {
    if (!is_unix_) Throw(ErrorCode::kDenied, "memory is shared over the Unix socket only");
    auto params = context.getParams();
    auto partition = context_.graph.Find(params.getPart());
    auto indexes = context_.graph.indexes(params.getPart());
    auto in = params.getIndex();
    if (in.getKind() > static_cast<uint8_t>(EdgeIndexKind::kSorted)) {
      Throw(ErrorCode::kInvalid, "there is no index of kind ", in.getKind());
    }
    const EdgeIndexSpec spec{static_cast<EdgeIndexKind>(in.getKind()), in.getOutward(),
                             in.getEtype(), in.getColumn().cStr()};
    CheckEdgeIndexSpec(*partition, spec);
    context.releaseParams();
    std::vector<EdgeIndexSpec> missing;
    if (!indexes->Has(spec)) missing.push_back(spec);
    return MakeIndexes(indexes, missing).then([context, indexes, spec]() mutable {
      AsKj([&] {
        auto segment = indexes->Get(spec);
        auto out = context.getResults().initSegment();
        WriteLayout(segment->layout(), out);
        out.setHandle(kj::heap<SegmentHandleImpl>(std::move(segment)));
      });
    });
  });
}

}  // namespace graphd
