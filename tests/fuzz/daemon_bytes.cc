// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>

#include <tuple>

#include "base/strings.h"
#include "tests/fuzz/support/target.h"
#include "tests/support/call_script.h"
#include "tests/support/daemon_services.h"

// Sends the bytes to a daemon as a client's stream, from its first byte on. The first byte of the
// input chooses the client's role and socket, whether it reads answers and whether it waits for
// them, and after how many rounds of its event loop the daemon ends the connection, if at all. The
// second byte chooses the size of the pieces in which the bytes arrive.

namespace graphd::fuzz {

using testing::DaemonServices;

namespace {

constexpr Role kRoles[] = {Role::kOperator, Role::kWriter, Role::kReader, Role::kNone};
constexpr char kTcp = 4, kReadsNothing = 8, kHurries = 16;
// The bits of the number of rounds, in units of kRounds; 0 if the daemon does not end the
// connection.
constexpr int kRoundsShift = 5, kRounds = 3;

// Writes the bytes that the daemon takes. Stops when it closes the connection, or does not read
// for a while.
void Send(DaemonServices& services, int fd, std::string_view bytes, size_t step, bool reads) {
  char answers[1 << 16];
  while (!bytes.empty()) {
    const ssize_t sent = ::write(fd, bytes.data(), std::min(bytes.size(), step));
    if (sent > 0) bytes.remove_prefix(static_cast<size_t>(sent));
    if (sent < 0 && errno != EAGAIN) return;
    if (reads) {
      while (::read(fd, answers, sizeof answers) > 0) {
      }
    }
    services.RunUntil(0, [] { return false; });
    if (sent < 0 && !reads) return;
  }
}

}  // namespace

void ReadInput(std::string_view input) {
  static auto& services = *new DaemonServices;
  if (input.size() < 2) return;
  const char how = input[0];
  const auto step = static_cast<uint8_t>(input[1]) * size_t{16} + 1;
  const bool reads = (how & kReadsNothing) == 0;
  DaemonServices::Input daemon(services);
  const UniqueFd fd =
      daemon.Connect(DaemonServices::PeerOfRole(kRoles[how & 3], (how & kTcp) == 0));
  input.remove_prefix(2);
  if (const int rounds = static_cast<uint8_t>(how) >> kRoundsShift; rounds > 0) {
    std::ignore = ::write(fd.get(), input.data(), input.size());
    daemon.EndConnection(0, rounds * kRounds);
    return;
  }
  Send(services, fd.get(), input, step, reads);
  if ((how & kHurries) != 0) return;
  // A client that ends its stream gets the answers that are ready within a moment.
  char answers[1 << 16];
  services.RunUntil(3, [&] {
    for (ssize_t got; reads && (got = ::read(fd.get(), answers, sizeof answers)) >= 0;) {
      if (got == 0) return true;
    }
    return false;
  });
}

namespace {

constexpr uint8_t kIdBytes[] = {1, 0, 0, 0, 2, 0, 0, 0};
const capnp::Data::Reader kIds(kIdBytes, sizeof kIdBytes);

std::string Strangers() {
  testing::CallScript stream;
  stream.Status();
  stream.CallDaemon<wire::Daemon::ShutdownParams>(2, [](auto params) { params.setForce(true); });
  stream.Finish(1);
  return stream.TakeBytes();
}

std::string Queries() {
  using S = wire::Session;
  testing::CallScript stream;
  stream.Attach("job");
  stream.CallSession<S::HopParams>(0, [](S::HopParams::Builder params) {
    auto seeds = params.initSeeds(1)[0];
    seeds.setIds(kIds);
    params.initRules(1)[0].setFanout(3);
    auto rows = params.initRows(1)[0];
    rows.setName("orig_id");
  });
  stream.CallSession<S::GatherParams>(1, [](S::GatherParams::Builder params) {
    params.setName("orig_id");
    params.setIds(kIds);
  });
  stream.CallSession<S::SliceParams>(2, [](S::SliceParams::Builder params) {
    params.setName("orig_id");
    params.setCount(3);
  });
  stream.CallSession<S::BarrierParams>(3, [](auto params) { params.setTimeout(1); });
  stream.CallSession<S::FindEdgesParams>(4, [](auto params) { params.setIds(kIds); });
  stream.CallSession<S::HasEdgesParams>(5, [](S::HasEdgesParams::Builder params) {
    params.setSrc(kIds);
    params.setDst(kIds);
  });
  stream.CallSession<S::DegreesParams>(6, [](auto params) { params.setIds(kIds); });
  stream.CallSession<S::InducedParams>(7, [](S::InducedParams::Builder params) {
    params.setSeeds(kIds);
    params.setMembers(kIds);
  });
  stream.CallSession<S::EdgeIndexParams>(8, [](auto params) { params.initIndex().setKind(0); });
  return stream.TakeBytes();
}

// A trainer waits for another one, which never comes. It calls what the barrier returns, and uses
// the barrier's question again.
std::string Waits() {
  using S = wire::Session;
  testing::CallScript stream;
  stream.Attach("job", /*wants_segments=*/false, /*world_size=*/2);
  stream.CallSession<S::BarrierParams>(3, [](auto params) { params.setTimeout(0); });
  const uint32_t barrier = stream.last_question();
  stream.CallAnswer<S::ListTensorsParams>(capnp::typeId<S>(), 18, barrier, [](auto) {});
  stream.UseQuestion(barrier);
  stream.Status();
  return stream.TakeBytes();
}

std::string Tensors() {
  using S = wire::Session;
  testing::CallScript stream;
  stream.Attach("job", true);
  const auto shared = DaemonServices::kStandingTables;  // a share of the tensor `shared`
  stream.CallSession<S::OpenTensorParams>(9, [](S::OpenTensorParams::Builder params) {
    auto spec = params.initSpec();
    spec.setName("own");
    spec.setRows(-1);
    params.setCreate(true);
    params.setCallerFills(true);
  });
  stream.CallSession<S::FilledParams>(10, [&](auto params) { params.setTable(shared + 1); });
  stream.CallSession<S::MapTensorParams>(11, [&](auto params) { params.setTable(shared); });
  stream.CallSession<S::ReadRowsParams>(12, [&](S::ReadRowsParams::Builder params) {
    params.setTable(shared);
    params.setIds(kIds);
  });
  const uint8_t payload[2 * DaemonServices::kRowBytes] = {};
  stream.CallSession<S::PushParams>(13, [&](S::PushParams::Builder params) {
    params.setTable(shared);
    params.initRule().setKind(1);
    params.initClient().setLow(1);
    params.setSequence(1);
    params.setIds(kIds);
    params.setPayload(capnp::Data::Reader(payload, sizeof payload));
  });
  stream.CallSession<S::StageParams>(14, [&](S::StageParams::Builder params) {
    params.setTable(shared);
    params.initRule().setKind(1);
    params.setStep(1);
    params.setIds(kIds);
    params.setPayload(capnp::Data::Reader(payload, sizeof payload));
  });
  stream.CallSession<S::LastStepParams>(15, [&](auto params) { params.setTable(shared); });
  stream.CallSession<S::LeaseParams>(16, [&](auto params) { params.setTable(shared); });
  stream.CallSession<S::PrepareStateParams>(17, [&](auto params) { params.setTable(shared); });
  stream.CallSession<S::ListTensorsParams>(18, [](auto) {});
  stream.CallSession<S::PushMemoryParams>(21, [](auto) {});
  stream.CallSession<S::DropTensorParams>(19, [&](auto params) { params.setTable(shared + 1); });
  return stream.TakeBytes();
}

std::string Checkpoints() {
  using C = wire::Checkpoints;
  const uint64_t id = capnp::typeId<C>(), making = capnp::typeId<wire::Making>();
  testing::CallScript stream;
  stream.Attach("job");
  stream.CallSession<wire::Session::CheckpointsParams>(20, [](auto) {});
  const uint32_t service = stream.last_question();
  stream.CallAnswer<C::PrepareParams>(id, 0, service, [](auto params) { params.setName("c"); });
  const uint32_t prepared = stream.last_question();
  stream.CallAnswer<wire::Making::HoldParams>(making, 0, prepared, [](auto) {});
  stream.CallAnswer<wire::Making::TakeParams>(making, 1, prepared, [](auto) {});
  stream.CallAnswer<wire::Making::AddFileParams>(making, 2, prepared,
                                                 [](auto params) { params.setFile("f"); });
  stream.CallAnswer<wire::Making::CommitParams>(making, 3, prepared,
                                                [](auto params) { params.setManifest("{}"); });
  stream.CallAnswer<C::ListParams>(id, 1, service, [](auto) {});
  const auto named = [](auto params) { params.setName("c"); };
  stream.CallAnswer<C::ReadRowsParams>(id, 2, service, named);
  stream.CallAnswer<C::ReadFileParams>(id, 3, service, named);
  stream.CallAnswer<C::OriginalIdsParams>(id, 5, service, named);
  stream.CallAnswer<C::LoadingParams>(
      id, 6, service, [](auto params) { params.setTable(DaemonServices::kStandingTables); });
  stream.CallAnswer<C::DeleteParams>(id, 4, service, named);
  stream.Finish(prepared);
  return stream.TakeBytes();
}

}  // namespace

std::vector<std::string> Seeds() {
  std::vector<std::string> seeds;
  for (const std::string& bytes : {Strangers(), Queries(), Waits(), Tensors(), Checkpoints()}) {
    seeds.push_back(StrCat('\0', '\xff', bytes));
    seeds.push_back(StrCat(static_cast<char>(kTcp | 1), '\3', bytes));
    seeds.push_back(StrCat(static_cast<char>(kReadsNothing | kHurries), '\x20', bytes));
    seeds.push_back(StrCat(static_cast<char>(2 << kRoundsShift), '\xff', bytes));
  }
  return seeds;
}

}  // namespace graphd::fuzz
