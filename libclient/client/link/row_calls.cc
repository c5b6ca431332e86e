// SPDX-License-Identifier: Apache-2.0
#include "client/link/row_calls.h"

#include <algorithm>
#include <cstring>

namespace graphd {

RpcThread::Pending StartGather(DaemonLink& link, PartId part, const FeatureRef& feature,
                               const RowsToRead& rows) {
  return StartReading(link, rows,
                      [=, &link](wire::Session::Client& session, capnp::MessageSize size) {
                        auto request = session.gatherRequest(size);
                        link.WriteCached(request);
                        request.setPart(part);
                        request.setIsEdge(feature.is_edge);
                        request.setType(feature.type);
                        request.setName(feature.name);
                        return request;
                      });
}

RpcThread::Pending StartSlice(DaemonLink& link, PartId part, const FeatureRef& feature,
                              size_t row_bytes, int64_t begin, std::span<std::byte> out) {
  const size_t per_chunk = std::max<size_t>(1, kChunkBytes / std::max<size_t>(row_bytes, 1));
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
    return request.send().then([=, &link](auto&& response) {
      auto data = response.getRows();
      if (data.size() != count * row_bytes) {
        AsKj([&] { BadAnswer(link.peer(), "bytes", data.size(), count * row_bytes); });
      }
      link.traffic().row_bytes += data.size();
      std::memcpy(out.data() + first * row_bytes, data.begin(), data.size());
    });
  };
  return link.StartSteps(DaemonLink::Lane::kBulk, chunks, step);
}

}  // namespace graphd
