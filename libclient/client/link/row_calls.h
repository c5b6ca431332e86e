// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>

#include "client/link/daemon_connections.h"
#include "client/link/wire_arrays.h"
#include "sampling/gather.h"

namespace graphd {

// Answers of this size keep gathering, sending and placing rows overlapped; bench/transfer.
inline constexpr size_t kChunkBytes = size_t{2} << 20;

// Asks for rows by id, in pieces: `request(session, words)` makes a request with all but the ids,
// which is answered with rows.
template <class MakeRequest>
RpcThread::Pending StartReading(DaemonLink& link, const RowsToRead& rows, MakeRequest request) {
  const size_t per_chunk = std::max<size_t>(1, kChunkBytes / std::max<size_t>(rows.row_bytes, 8));
  const size_t chunks = (rows.ids.size() + per_chunk - 1) / per_chunk;
  auto step = [=, &link](wire::Session::Client& session, size_t chunk) -> kj::Promise<void> {
    const size_t begin = chunk * per_chunk, count = std::min(per_chunk, rows.ids.size() - begin);
    const size_t id_bytes = count * rows.id_bytes;
    auto message = request(session, capnp::MessageSize{id_bytes / 8 + 32, 0});
    WriteIds(rows.ids.subspan(begin, count), rows.id_bytes,
             message.initIds(static_cast<kj::uint>(id_bytes)));
    return message.send().then([=, &link](auto&& response) {
      const auto data = response.getRows();
      AsKj([&] { CheckBytes(link.peer(), "bytes", data.size(), count * rows.row_bytes); });
      link.traffic().row_bytes += data.size() + id_bytes;
      ScatterRows(reinterpret_cast<const std::byte*>(data.begin()), rows.row_bytes,
                  rows.positions.subspan(begin, count), rows.out);
    });
  };
  return link.StartSteps(DaemonLink::Lane::kBulk, chunks, step);
}

}  // namespace graphd
