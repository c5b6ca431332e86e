// SPDX-License-Identifier: Apache-2.0
#include "client/link/edge_calls.h"

#include <algorithm>
#include <cstring>

#include "client/link/answer_checks.h"
#include "wire/connection.h"
#include "wire/id_arrays.h"

namespace graphd {
namespace {

// The number of ids in one message: small enough not to delay other calls for long, large enough to
// amortise the cost of a message.
constexpr size_t kIdsPerRequest = size_t{1} << 17;

size_t NumChunks(size_t ids) { return (ids + kIdsPerRequest - 1) / kIdsPerRequest; }

std::span<const int64_t> Chunk(std::span<const int64_t> ids, size_t chunk) {
  const size_t begin = chunk * kIdsPerRequest;
  return ids.subspan(begin, std::min(kIdsPerRequest, ids.size() - begin));
}

kj::uint Bytes(size_t count, size_t width) { return static_cast<kj::uint>(count * width); }

}  // namespace

RpcThread::Pending StartFindEdges(DaemonLink& link, PartId part, EdgeTypeId etype,
                                  const EdgeWidths& widths, int64_t num_src, int64_t num_dst,
                                  std::span<const int64_t> ids, int64_t* src, int64_t* dst) {
  auto step = [=, &link](wire::Session::Client& session, size_t chunk) -> kj::Promise<void> {
    const auto some = Chunk(ids, chunk);
    auto request = session.findEdgesRequest();
    request.setPart(part);
    request.setEtype(etype);
    WriteIds(some, widths.edge, request.initIds(Bytes(some.size(), widths.edge)));
    return request.send().then([=, &link](auto&& response) {
      AsKj([&] {
        const auto sources = response.getSrc();
        const auto destinations = response.getDst();
        CheckBytes(link.peer(), "bytes of sources", sources.size(), some.size() * widths.src);
        CheckBytes(link.peer(), "bytes of destinations", destinations.size(),
                   some.size() * widths.dst);
        int64_t* const from = src + chunk * kIdsPerRequest;
        int64_t* const to = dst + chunk * kIdsPerRequest;
        ReadIds(sources, widths.src, from, some.size());
        ReadIds(destinations, widths.dst, to, some.size());
        CheckIds(link.peer(), "source", {from, some.size()}, num_src);
        CheckIds(link.peer(), "destination", {to, some.size()}, num_dst);
      });
    });
  };
  return link.StartSteps(DaemonLink::Lane::kSmall, NumChunks(ids.size()), step);
}

RpcThread::Pending StartHasEdges(DaemonLink& link, PartId part, EdgeTypeId etype,
                                 const EdgeWidths& widths, std::span<const int64_t> src,
                                 std::span<const int64_t> dst, uint8_t* found) {
  auto step = [=, &link](wire::Session::Client& session, size_t chunk) -> kj::Promise<void> {
    const auto from = Chunk(src, chunk), to = Chunk(dst, chunk);
    auto request = session.hasEdgesRequest();
    request.setPart(part);
    request.setEtype(etype);
    WriteIds(from, widths.src, request.initSrc(Bytes(from.size(), widths.src)));
    WriteIds(to, widths.dst, request.initDst(Bytes(to.size(), widths.dst)));
    return request.send().then([=, &link](auto&& response) {
      AsKj([&] {
        const auto answer = response.getFound();
        CheckBytes(link.peer(), "answers", answer.size(), from.size());
        std::memcpy(found + chunk * kIdsPerRequest, answer.begin(), answer.size());
      });
    });
  };
  return link.StartSteps(DaemonLink::Lane::kSmall, NumChunks(src.size()), step);
}

RpcThread::Pending StartDegrees(DaemonLink& link, PartId part, EdgeTypeId etype, bool outward,
                                size_t width, std::span<const int64_t> ids, int64_t* degrees) {
  auto step = [=, &link](wire::Session::Client& session, size_t chunk) -> kj::Promise<void> {
    const auto some = Chunk(ids, chunk);
    auto request = session.degreesRequest();
    request.setPart(part);
    request.setEtype(etype);
    request.setOutward(outward);
    WriteIds(some, width, request.initIds(Bytes(some.size(), width)));
    return request.send().then([=, &link](auto&& response) {
      AsKj([&] {
        const auto counts = response.getCounts();
        CheckBytes(link.peer(), "bytes of degrees", counts.size(), some.size() * 4);
        ReadIds(counts, 4, degrees + chunk * kIdsPerRequest, some.size());
      });
    });
  };
  return link.StartSteps(DaemonLink::Lane::kSmall, NumChunks(ids.size()), step);
}

RpcThread::Pending StartInduced(DaemonLink& link, PartId part, EdgeTypeId etype,
                                const EdgeWidths& widths, std::span<const int64_t> seeds,
                                std::span<const int64_t> members, InducedPart* out) {
  auto step = [=, &link](wire::Session::Client& session, size_t) -> kj::Promise<void> {
    auto request = session.inducedRequest();
    request.setPart(part);
    request.setEtype(etype);
    WriteIds(seeds, widths.dst, request.initSeeds(Bytes(seeds.size(), widths.dst)));
    WriteIds(members, widths.src, request.initMembers(Bytes(members.size(), widths.src)));
    return request.send().then([=, &link](auto&& response) {
      AsKj([&] {
        const auto counts = response.getCounts();
        const auto indices = response.getIndices();
        CheckBytes(link.peer(), "bytes of counts", counts.size(), seeds.size() * 4);
        out->counts.resize(seeds.size());
        if (!seeds.empty()) std::memcpy(out->counts.data(), counts.begin(), counts.size());
        size_t total = 0;
        for (uint32_t count : out->counts) total += count;
        CheckBytes(link.peer(), "bytes of indices", indices.size(), total * 4);
        CheckBytes(link.peer(), "bytes of edge ids", response.getEdges().size(),
                   total * widths.edge);
        out->indices.resize(total);
        if (total > 0) std::memcpy(out->indices.data(), indices.begin(), indices.size());
        for (uint32_t index : out->indices) {
          if (index >= members.size()) BadAnswer(link.peer(), "as a member", index, members.size());
        }
        out->edge_ids.resize(total);
        ReadIds(response.getEdges(), widths.edge, out->edge_ids.data(), total);
      });
    });
  };
  return link.StartSteps(DaemonLink::Lane::kSmall, 1, step);
}

}  // namespace graphd
