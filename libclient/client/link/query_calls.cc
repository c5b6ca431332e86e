// SPDX-License-Identifier: Apache-2.0
// Questions about edges over a link.
#include "client/link/daemon_connections.h"
#include "client/link/wire_arrays.h"

namespace graphd {
namespace {

// Ids in one message: small enough that others get a turn, large enough to be worth one.
constexpr size_t kIdsPerRequest = size_t{1} << 17;

size_t NumChunks(size_t ids) { return (ids + kIdsPerRequest - 1) / kIdsPerRequest; }

std::span<const int64_t> Chunk(std::span<const int64_t> ids, size_t chunk) {
  const size_t begin = chunk * kIdsPerRequest;
  return ids.subspan(begin, std::min(kIdsPerRequest, ids.size() - begin));
}

kj::uint Bytes(size_t count, size_t width) { return static_cast<kj::uint>(count * width); }

}  // namespace

RpcThread::Pending DaemonLink::FindEdges(PartId part, EdgeTypeId etype, const EdgeWidths& widths,
                                         std::span<const int64_t> ids, int64_t* src, int64_t* dst) {
  auto step = [=, this](wire::Session::Client& session, size_t chunk) -> kj::Promise<void> {
    const auto some = Chunk(ids, chunk);
    auto request = session.findEdgesRequest();
    request.setPart(part);
    request.setEtype(etype);
    WriteIds(some, widths.edge, request.initIds(Bytes(some.size(), widths.edge)));
    return request.send().then([=, this](auto&& response) {
      AsKj([&] {
        const auto sources = response.getSrc();
        const auto destinations = response.getDst();
        CheckBytes(peer_, "bytes of sources", sources.size(), some.size() * widths.src);
        CheckBytes(peer_, "bytes of destinations", destinations.size(), some.size() * widths.dst);
        ReadIds(sources, widths.src, src + chunk * kIdsPerRequest, some.size());
        ReadIds(destinations, widths.dst, dst + chunk * kIdsPerRequest, some.size());
      });
    });
  };
  return StartSteps(Lane::kSmall, NumChunks(ids.size()), step);
}

RpcThread::Pending DaemonLink::HasEdges(PartId part, EdgeTypeId etype, const EdgeWidths& widths,
                                        std::span<const int64_t> src, std::span<const int64_t> dst,
                                        uint8_t* found) {
  auto step = [=, this](wire::Session::Client& session, size_t chunk) -> kj::Promise<void> {
    const auto from = Chunk(src, chunk), to = Chunk(dst, chunk);
    auto request = session.hasEdgesRequest();
    request.setPart(part);
    request.setEtype(etype);
    WriteIds(from, widths.src, request.initSrc(Bytes(from.size(), widths.src)));
    WriteIds(to, widths.dst, request.initDst(Bytes(to.size(), widths.dst)));
    return request.send().then([=, this](auto&& response) {
      AsKj([&] {
        const auto answer = response.getFound();
        CheckBytes(peer_, "answers", answer.size(), from.size());
        std::memcpy(found + chunk * kIdsPerRequest, answer.begin(), answer.size());
      });
    });
  };
  return StartSteps(Lane::kSmall, NumChunks(src.size()), step);
}

RpcThread::Pending DaemonLink::Degrees(PartId part, EdgeTypeId etype, bool outward, size_t width,
                                       std::span<const int64_t> ids, int64_t* degrees) {
  auto step = [=, this](wire::Session::Client& session, size_t chunk) -> kj::Promise<void> {
    const auto some = Chunk(ids, chunk);
    auto request = session.degreesRequest();
    request.setPart(part);
    request.setEtype(etype);
    request.setOutward(outward);
    WriteIds(some, width, request.initIds(Bytes(some.size(), width)));
    return request.send().then([=, this](auto&& response) {
      AsKj([&] {
        const auto counts = response.getCounts();
        CheckBytes(peer_, "bytes of degrees", counts.size(), some.size() * 4);
        ReadIds(counts, 4, degrees + chunk * kIdsPerRequest, some.size());
      });
    });
  };
  return StartSteps(Lane::kSmall, NumChunks(ids.size()), step);
}

RpcThread::Pending DaemonLink::Induced(PartId part, EdgeTypeId etype, const EdgeWidths& widths,
                                       std::span<const int64_t> seeds,
                                       std::span<const int64_t> members, InducedPart* out) {
  auto step = [=, this](wire::Session::Client& session, size_t) -> kj::Promise<void> {
    auto request = session.inducedRequest();
    request.setPart(part);
    request.setEtype(etype);
    WriteIds(seeds, widths.dst, request.initSeeds(Bytes(seeds.size(), widths.dst)));
    WriteIds(members, widths.src, request.initMembers(Bytes(members.size(), widths.src)));
    return request.send().then([=, this](auto&& response) {
      AsKj([&] {
        const auto counts = response.getCounts();
        const auto indices = response.getIndices();
        CheckBytes(peer_, "bytes of counts", counts.size(), seeds.size() * 4);
        out->counts.resize(seeds.size());
        if (!seeds.empty()) std::memcpy(out->counts.data(), counts.begin(), counts.size());
        size_t total = 0;
        for (uint32_t count : out->counts) total += count;
        CheckBytes(peer_, "bytes of indices", indices.size(), total * 4);
        CheckBytes(peer_, "bytes of edge ids", response.getEdges().size(), total * widths.edge);
        out->indices.resize(total);
        if (total > 0) std::memcpy(out->indices.data(), indices.begin(), indices.size());
        for (uint32_t index : out->indices) {
          if (index >= members.size()) BadAnswer(peer_, "as a member", index, members.size());
        }
        out->edge_ids.resize(total);
        ReadIds(response.getEdges(), widths.edge, out->edge_ids.data(), total);
      });
    });
  };
  return StartSteps(Lane::kSmall, 1, step);
}

std::shared_ptr<const Segment> DaemonLink::MapIndex(PartId part, const EdgeIndexSpec& spec) {
  SegmentLayout layout;
  UniqueFd fd;
  auto step = [&, part](wire::Session::Client& session, size_t) -> kj::Promise<void> {
    auto request = session.edgeIndexRequest();
    request.setPart(part);
    auto index = request.initIndex();
    index.setKind(static_cast<uint8_t>(spec.kind));
    index.setOutward(spec.out);
    index.setEtype(spec.etype);
    index.setColumn(spec.column);
    return request.send().then([&](auto&& response) {
      AsKj([&] { layout = ReadLayout(response.getSegment(), "the graphd at " + peer_); });
      return TakeDescriptor(response.getSegment().getHandle(), fd).attach(kj::mv(response));
    });
  };
  StartSteps(Lane::kSmall, 1, step).Wait();
  if (!fd) Throw(ErrorCode::kCorrupt, "the graphd at ", peer_, " sent no descriptor");
  return Segment::Map(std::move(fd), std::move(layout));
}

}  // namespace graphd
