// SPDX-License-Identifier: Apache-2.0
#include "client/link/tell_reads.h"

#include <utility>

namespace graphd {
namespace {

kj::Promise<void> TellAndWait(kj::Timer& timer, wire::Session::Client session,
                              std::shared_ptr<MappedReadCounts> counts) {
  return timer.afterDelay(1 * kj::SECONDS)
      .then([session, counts]() mutable { return TellReads(session, counts); })
      .then([&timer, session, counts]() mutable { return TellAndWait(timer, session, counts); });
}

}  // namespace

kj::Promise<void> TellReads(wire::Session::Client session,
                            std::shared_ptr<MappedReadCounts> counts) {
  const MappedReads reads = LimitToldReads(counts->Take());
  if (reads.calls == 0) return kj::READY_NOW;
  auto request = session.countReadsRequest();
  WriteMappedReads(reads, request.initReads());
  return request.send().ignoreResult().catch_([reads, counts](kj::Exception&& error) {
    counts->Add(reads);
    kj::throwFatalException(kj::mv(error));
  });
}

kj::Promise<void> KeepTellingReads(kj::Timer& timer, wire::Session::Client session,
                                   std::shared_ptr<MappedReadCounts> counts) {
  return TellAndWait(timer, std::move(session), std::move(counts)).catch_([](kj::Exception&&) {});
}

}  // namespace graphd
