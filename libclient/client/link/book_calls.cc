// SPDX-License-Identifier: Apache-2.0
#include "client/link/book_calls.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "client/link/answer_checks.h"

namespace graphd {
namespace {

// A slower network than this makes attaching fail.
constexpr uint64_t kSlowestBytesPerMillisecond = 4096;

constexpr auto kPiece = static_cast<size_t>(kMaxOwnersPerCall) / 2;  // 2 MiB

}  // namespace

size_t OwnersPieces(std::span<const int32_t> owners) {
  return (owners.size() + kPiece - 1) / kPiece;
}

kj::Promise<void> ReadOwnersPiece(wire::Session::Client& session,
                                  const ReceivedGraph::Missing& missing, size_t piece,
                                  std::span<int32_t> owners, std::string peer) {
  const size_t begin = piece * kPiece;
  const auto out = owners.subspan(begin, std::min(kPiece, owners.size() - begin));
  auto request = session.ownersRequest();
  request.setIsEdge(missing.is_edge);
  request.setBegin(static_cast<int64_t>(begin));
  request.setCount(static_cast<int64_t>(out.size()));
  return request.send().then([out, peer = std::move(peer)](auto&& response) {
    const auto data = response.getOwners();
    if (data.size() != out.size_bytes()) {
      AsKj([&] { BadAnswer(peer, "bytes", data.size(), out.size_bytes()); });
    }
    std::memcpy(out.data(), data.begin(), data.size());
  });
}

void ReadOwners(DaemonLink& link, const ReceivedGraph::Missing& missing, std::span<int32_t> owners,
                std::chrono::milliseconds patience) {
  const auto step = [&](wire::Session::Client& session, size_t piece) {
    return ReadOwnersPiece(session, missing, piece, owners, link.peer());
  };
  patience += std::chrono::milliseconds(owners.size_bytes() / kSlowestBytesPerMillisecond);
  link.StartSteps(DaemonLink::Lane::kBulk, OwnersPieces(owners), step, patience).Wait();
}

void CopyOwners(UniqueFd fd, std::span<int32_t> owners) {
  const auto segment =
      Segment::Map(std::move(fd), LayoutOfOwners(static_cast<int64_t>(owners.size())));
  std::memcpy(owners.data(), segment->array("owners").data(), owners.size_bytes());
}

}  // namespace graphd
