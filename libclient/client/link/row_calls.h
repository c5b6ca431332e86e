// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>

#include "client/link/answer_checks.h"
#include "client/link/daemon_link.h"
#include "sampling/gather.h"
#include "wire/connection.h"
#include "wire/id_arrays.h"

namespace graphd {

// The size of the answers into which a read of rows is divided, so that the daemon gathers and
// sends rows while the client places earlier ones; measured by bench/transfer.
inline constexpr size_t kChunkBytes = size_t{2} << 20;

// Starts reading rows by id, in pieces: `request(session, words)` makes a request with everything
// but the ids, and the answer to it contains the rows.
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

// Starts reading rows of a feature by id, or consecutive local rows from `begin` on. Wait on the
// result; `rows` and `out` must live until then.
RpcThread::Pending StartGather(DaemonLink& link, PartId part, const FeatureRef& feature,
                               const RowsToRead& rows);
RpcThread::Pending StartSlice(DaemonLink& link, PartId part, const FeatureRef& feature,
                              size_t row_bytes, int64_t begin, std::span<std::byte> out);

}  // namespace graphd
