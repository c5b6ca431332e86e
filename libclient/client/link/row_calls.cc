// SPDX-License-Identifier: Apache-2.0
#include "client/link/row_calls.h"

#include <algorithm>
#include <cstring>

#include "client/link/answer_checks.h"
#include "sampling/gather.h"

namespace graphd {

void PlaceRows(const std::string& peer, capnp::Data::Reader rows, const Encoding& sent,
               size_t row_bytes, std::span<const int64_t> positions, std::byte* out) {
  CheckBytes(peer, "bytes of rows", rows.size(), positions.size() * sent.StoredBytes(row_bytes));
  ScatterRows(sent, reinterpret_cast<const std::byte*>(rows.begin()), row_bytes, positions, out);
}

RpcThread::Pending StartGather(DaemonLink& link, PartId part, const FeatureRef& feature,
                               const RowsToRead& rows) {
  const Encoding encoding = link.encodings().Find(part, feature);
  const auto make = [=, &link](wire::Session::Client& session, capnp::MessageSize size) {
    auto request = session.gatherRequest(size);
    link.WriteCached(request);
    request.setPart(part);
    request.setIsEdge(feature.is_edge);
    request.setType(feature.type);
    request.setName(feature.name);
    request.setTakesEncoded(!encoding.is_plain());
    return request;
  };
  return StartReading(link, rows, make, encoding);
}

RpcThread::Pending StartSlice(DaemonLink& link, PartId part, const FeatureRef& feature,
                              size_t row_bytes, int64_t begin, std::span<std::byte> out) {
  const Encoding encoding = link.encodings().Find(part, feature);
  const size_t per_chunk =
      std::max<size_t>(1, kChunkBytes / std::max<size_t>(encoding.StoredBytes(row_bytes), 1));
  const size_t rows = row_bytes ? out.size() / row_bytes : 0;
  const size_t chunks = (rows + per_chunk - 1) / per_chunk;
  auto step = [=, &link](wire::Session::Client& session, size_t chunk) -> kj::Promise<void> {
    const size_t first = chunk * per_chunk, count = std::min(per_chunk, rows - first);
    auto request = session.sliceRequest();
    request.setPart(part);
    request.setIsEdge(feature.is_edge);
    request.setType(feature.type);
    request.setName(feature.name);
    request.setBegin(begin + static_cast<int64_t>(first));
    request.setCount(static_cast<int64_t>(count));
    request.setTakesEncoded(!encoding.is_plain());
    return request.send().then([=, &link](auto&& response) {
      const auto data = response.getRows();
      const Encoding sent = response.getEncoded() ? encoding : Encoding();
      AsKj([&] {
        CheckBytes(link.peer(), "bytes of rows", data.size(), count * sent.StoredBytes(row_bytes));
      });
      link.traffic().row_bytes += data.size();
      std::byte* const to = out.data() + first * row_bytes;
      if (sent.is_plain()) {
        std::memcpy(to, data.begin(), data.size());
      } else {
        Decode(sent, reinterpret_cast<const std::byte*>(data.begin()),
               data.size() / DTypeSize(sent.stored), to);
      }
    });
  };
  return link.StartSteps(DaemonLink::Lane::kBulk, chunks, step);
}

}  // namespace graphd
