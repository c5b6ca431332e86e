// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>

#include "client/link/daemon_link.h"
#include "wire/connection.h"
#include "wire/id_arrays.h"

namespace graphd {

// The size of the answers into which a read of rows is divided, so that the daemon gathers and
// sends rows while the client places earlier ones. bench/transfer measures its effect.
inline constexpr size_t kChunkBytes = size_t{2} << 20;

// Copies the rows of an answer, which are encoded as `sent` says: row i becomes row positions[i] of
// `out`, whose rows have `row_bytes`. Throws Error(kCorrupt) unless there are as many rows as
// positions.
void PlaceRows(const std::string& peer, capnp::Data::Reader rows, const Encoding& sent,
               size_t row_bytes, std::span<const int64_t> positions, std::byte* out);

// Starts reading rows by id, in pieces. `request(session, size)` makes a request of this message
// size with everything except the ids. The answer contains the rows, and says whether they are
// encoded.
template <class MakeRequest>
RpcThread::Pending StartReading(DaemonLink& link, const RowsToRead& rows, MakeRequest request,
                                const Encoding& encoding = {}) {
  const size_t sent_bytes = encoding.StoredBytes(rows.row_bytes);
  const size_t per_chunk = std::max<size_t>(1, kChunkBytes / std::max<size_t>(sent_bytes, 8));
  const size_t chunks = (rows.ids.size() + per_chunk - 1) / per_chunk;
  auto step = [=, &link](wire::Session::Client& session, size_t chunk) -> kj::Promise<void> {
    const size_t begin = chunk * per_chunk, count = std::min(per_chunk, rows.ids.size() - begin);
    const size_t id_bytes = count * rows.id_bytes;
    auto message = request(session, capnp::MessageSize{id_bytes / 8 + 32, 0});
    WriteIds(rows.ids.subspan(begin, count), rows.id_bytes,
             message.initIds(static_cast<kj::uint>(id_bytes)));
    return message.send().then([=, &link](auto&& response) {
      const auto data = response.getRows();
      Encoding sent;
      if constexpr (requires { response.getEncoded(); }) {
        if (response.getEncoded()) sent = encoding;
      }
      AsKj([&] {
        PlaceRows(link.peer(), data, sent, rows.row_bytes, rows.positions.subspan(begin, count),
                  rows.out);
      });
      link.traffic().row_bytes += data.size() + id_bytes;
    });
  };
  return link.StartSteps(DaemonLink::Lane::kBulk, chunks, step);
}

// Starts reading rows of a feature by id, or consecutive local rows from `begin` on. The caller
// must call Wait on the result; `rows` and `out` must live until then.
RpcThread::Pending StartGather(DaemonLink& link, PartId part, const FeatureRef& feature,
                               const RowsToRead& rows);
RpcThread::Pending StartSlice(DaemonLink& link, PartId part, const FeatureRef& feature,
                              size_t row_bytes, int64_t begin, std::span<std::byte> out);

}  // namespace graphd
