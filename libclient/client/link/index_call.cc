// SPDX-License-Identifier: Apache-2.0
#include "client/link/index_call.h"

#include "base/strings.h"
#include "client/link/take_descriptor.h"
#include "wire/connection.h"
#include "wire/graph_messages.h"

namespace graphd {

std::shared_ptr<const Segment> MapIndex(DaemonLink& link, PartId part, const EdgeIndexSpec& spec) {
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
      AsKj([&] { layout = ReadLayout(response.getSegment(), "the graphd at " + link.peer()); });
      return TakeDescriptor(response.getSegment().getHandle(), fd).attach(kj::mv(response));
    });
  };
  link.StartSteps(DaemonLink::Lane::kSmall, 1, step).Wait();
  if (!fd) Throw(ErrorCode::kCorrupt, "the graphd at ", link.peer(), " sent no descriptor");
  return Segment::Map(std::move(fd), std::move(layout));
}

}  // namespace graphd
