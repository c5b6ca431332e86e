// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <memory>
#include <set>

#include "base/strings.h"
#include "tests/fuzz/support/target.h"
#include "tests/fuzz/support/typed_calls.h"
#include "tests/fuzz/support/wire_input.h"
#include "wire/graph_messages.h"

// Makes calls of a daemon with the protocol's own client: the input chooses up to three connections
// with a role each, the calls, their order and their parameters, which may be out of range, what is
// dropped before it is answered, and when which side ends a connection. Calls of operators are
// those of control_calls.cc.

namespace graphd::fuzz {
namespace {

using S = wire::Session;
using C = wire::Checkpoints;

constexpr size_t kConnections = 3;
constexpr int kMaxCalls = 60;

struct Client : TypedClient {
  using TypedClient::TypedClient;
  kj::Maybe<S::Client> session;
  kj::Maybe<C::Client> checkpoints;
  kj::Maybe<wire::Making::Client> making;
};

// The calls of one input.
class Calls : private TypedCalls {
 public:
  Calls(DaemonServices& services, std::string_view input) : TypedCalls(services, input) {}

  void Run() {
    for (int i = 0; i < kMaxCalls && data_.remaining_bytes() > 0; i++) MakeCall();
    const bool hurries = data_.ConsumeBool();
    if (!hurries) WaitForAnswers();
    End();
  }

 private:
  uint32_t Table() {
    const auto number = data_.ConsumeIntegral<uint8_t>();
    if (number == 255) return data_.ConsumeIntegral<uint32_t>();
    auto table = tables_->begin();
    std::advance(table, number % tables_->size());
    return *table;
  }
  // Returns ids that are in range for most types, or any bytes.
  std::vector<kj::byte> Ids() {
    const auto kind = data_.ConsumeIntegral<uint8_t>();
    if (kind >= 240) return data_.ConsumeBytes<kj::byte>(data_.ConsumeIntegral<uint8_t>());
    std::vector<kj::byte> ids;
    for (const auto id : data_.ConsumeBytes<kj::byte>(kind % 8)) {
      ids.insert(ids.end(), {static_cast<kj::byte>(id % 50), 0, 0, 0});
    }
    return ids;
  }
  static capnp::Data::Reader Data(const std::vector<kj::byte>& bytes) {
    return {bytes.data(), bytes.size()};
  }
  std::string Name() {
    return OneOf({"", "orig_id", "feat", "label", "weight", "c", "f", DaemonServices::kVictim,
                  DaemonServices::kShared, "own", "../c", "."});
  }

  void MakeCall();
  void CallDaemon(Client& client, int call);
  void CallOwners(S::Client session);
  void CallSession(S::Client session, int call);
  void CallTensors(S::Client session, int call);
  void CallCheckpoints(Client& client, int call);

  // Callbacks add to it, also after the input has ended.
  const std::shared_ptr<std::set<uint32_t>> tables_ =
      std::make_shared<std::set<uint32_t>>(std::set<uint32_t>{1, 2, 3, 4});
  std::array<kj::Own<Client>, kConnections> clients_;
};

void Calls::MakeCall() {
  auto& client = clients_[data_.ConsumeIntegral<uint8_t>() % 8 % kConnections];
  const int call = data_.ConsumeIntegral<uint8_t>() % 50;
  if (client.get() == nullptr) {
    const Chosen chosen = ChoosePeer();
    const bool is_unix = chosen.peer.is_unix;
    client = kj::heap<Client>(services_, daemon_.Connect(chosen.peer), is_unix);
    return CallDaemon(*client, 0);
  }
  if (call < 4) return CallDaemon(*client, call);
  if (call == 4) client = nullptr;
  if (call == 5) client->session = nullptr;
  if (call == 6) client->making = nullptr;
  if (call == 7) return WaitForAnswers();
  if (call == 8) daemon_.EndConnection(Some<uint8_t>(), data_.ConsumeIntegral<uint8_t>());
  if (call == 9) DropACall();
  if (call == 10) services_.RunUntil(0, [] { return false; });
  if (call <= 10) return;
  if (call >= 34 && call < 48) return CallCheckpoints(*client, call - 34);
  KJ_IF_MAYBE (session, client->session) {
    if (call == 48) return CallOwners(*session);
    if (call == 49) {
      auto request = session->countReadsRequest();
      auto reads = request.initReads();
      reads.setCalls(Some<uint64_t>());
      reads.setRows(Some<uint64_t>());
      return static_cast<void>(Send(kj::mv(request)));
    }
    if (call < 21) return CallSession(*session, call - 11);
    return CallTensors(*session, call - 21);
  }
}

void Calls::CallDaemon(Client& client, int call) {
  if (call == 1) {
    auto request = client.daemon.statusRequest();
    WriteHello(request.initHello());
    Send(kj::mv(request));
  } else if (call == 2 && data_.ConsumeBool()) {
    auto request = client.daemon.shutdownRequest();
    request.setForce(data_.ConsumeBool());
    Send(kj::mv(request));
  } else {
    auto request = client.daemon.attachRequest();
    WriteHello(request.initHello());
    const auto odd = data_.ConsumeIntegral<uint8_t>();
    if (odd == 255) request.getHello().setProtocol(Some<uint32_t>());
    if (odd == 254) request.setServerName(Name());
    auto member = request.initMember();
    member.setJobId(odd == 253   ? std::string(DaemonServices::kVictimsJob)
                    : odd == 252 ? Name()
                                 : StrCat(odd % 2 == 0 ? "a" : "b", daemon_.unique()));
    member.setRole(odd % 16 == 0   ? wire::Role::LAUNCHER
                   : odd % 16 == 1 ? wire::Role::BULK
                                   : wire::Role::TRAINER);
    member.setRank(odd < 100 ? 0 : Some<int32_t>());
    member.setWorldSize(odd < 100 ? 1 : Some<int32_t>());
    if (odd % 8 == 0) member.setSecret(Name());
    request.setWantSegments(data_.ConsumeBool());
    auto pipeline = Send(kj::mv(request));
    client.session = pipeline.getSession();
    client.checkpoints = nullptr;
  }
}

void Calls::CallOwners(S::Client session) {
  auto request = session.ownersRequest();
  request.setIsEdge(data_.ConsumeBool());
  request.setBegin(Some<int64_t>());
  request.setCount(Some<int64_t>());
  Send(kj::mv(request));
}

void Calls::CallSession(S::Client session, int call) {
  const auto ids = Ids();
  switch (call) {
    case 0: {
      auto request = session.hopRequest();
      request.setPart(Some<int32_t>());
      FillHop(data_, request);
      request.setTakesEncoded(data_.ConsumeBool());
      for (auto rule : request.getRules()) {
        // Large answers are right, but take time.
        if (rule.getFanout() > 1000) rule.setFanout(rule.getFanout() % 1000);
      }
      Send(kj::mv(request));
      return;
    }
    case 1: {
      auto request = session.gatherRequest();
      request.setPart(Some<int32_t>());
      request.setIsEdge(data_.ConsumeBool());
      request.setType(Some<int32_t>());
      request.setName(Name());
      request.setIds(Data(ids));
      request.setTakesEncoded(data_.ConsumeBool());
      Send(kj::mv(request));
      return;
    }
    case 2: {
      auto request = session.sliceRequest();
      request.setPart(Some<int32_t>());
      request.setIsEdge(data_.ConsumeBool());
      request.setType(Some<int32_t>());
      request.setName(Name());
      request.setBegin(Some<int64_t>());
      request.setCount(Some<int64_t>());
      request.setTakesEncoded(data_.ConsumeBool());
      Send(kj::mv(request));
      return;
    }
    case 3: {
      auto request = session.barrierRequest();
      request.setTimeout(Some<uint32_t>());
      request.setEntry(Some<uint64_t>());
      request.setPassed(Some<uint64_t>());
      Send(kj::mv(request));
      return;
    }
    case 4: {
      auto request = session.findEdgesRequest();
      request.setPart(Some<int32_t>());
      request.setEtype(Some<int32_t>());
      request.setIds(Data(ids));
      Send(kj::mv(request));
      return;
    }
    case 5: {
      auto request = session.hasEdgesRequest();
      request.setPart(Some<int32_t>());
      request.setEtype(Some<int32_t>());
      request.setSrc(Data(ids));
      request.setDst(Data(data_.ConsumeBool() ? ids : Ids()));
      Send(kj::mv(request));
      return;
    }
    case 6: {
      auto request = session.degreesRequest();
      request.setPart(Some<int32_t>());
      request.setEtype(Some<int32_t>());
      request.setOutward(data_.ConsumeBool());
      request.setIds(Data(ids));
      Send(kj::mv(request));
      return;
    }
    case 7: {
      auto request = session.inducedRequest();
      request.setPart(Some<int32_t>());
      request.setEtype(Some<int32_t>());
      request.setSeeds(Data(ids));
      request.setMembers(Data(Ids()));
      Send(kj::mv(request));
      return;
    }
    case 8: {
      auto request = session.edgeIndexRequest();
      request.setPart(Some<int32_t>());
      auto index = request.initIndex();
      index.setKind(Some<uint8_t>());
      index.setOutward(data_.ConsumeBool());
      index.setEtype(Some<int32_t>());
      index.setColumn(Name());
      Send(kj::mv(request));
      return;
    }
    default:
      Send(session.listTensorsRequest());
  }
}

// Fills the fields that a push and a part of a step have in common.
template <class Request>
void FillChange(FuzzedDataProvider& data, const std::vector<kj::byte>& ids, Request& request) {
  auto rule = request.initRule();
  rule.setKind(data.ConsumeIntegral<uint8_t>() % 9);
  rule.setMeanOfDuplicates(data.ConsumeBool());
  rule.setLr(data.ConsumeBool() ? 0.5F : data.ConsumeFloatingPoint<float>());
  rule.setEps(data.ConsumeBool() ? 1e-8F : data.ConsumeFloatingPoint<float>());
  request.setIds(capnp::Data::Reader(ids.data(), ids.size()));
  const auto kind = data.ConsumeIntegral<uint8_t>();
  if (kind == 255) {
    auto shared = request.initShared();
    shared.setMemory(data.ConsumeIntegral<uint64_t>());
    shared.setOffset(data.ConsumeIntegral<uint64_t>());
    shared.setBytes(data.ConsumeIntegral<uint64_t>());
    return;
  }
  size_t size = ids.size() / 4 * DaemonServices::kRowBytes;
  if (kind % 8 == 7) size = size * (kind / 64 + 1) / 2;
  request.initPayload(static_cast<kj::uint>(size));
}

void Calls::CallTensors(S::Client session, int call) {
  switch (call) {
    case 0:
    case 1: {
      auto request = session.openTensorRequest();
      request.setPart(Some<int32_t>());
      auto spec = request.initSpec();
      spec.setName(Name());
      spec.setPersistent(data_.ConsumeBool());
      spec.setPolicy(data_.ConsumeIntegral<uint8_t>() % 4);
      spec.setType(Some<int32_t>());
      // More rows would only cost memory, until there are too many.
      const auto rows = data_.ConsumeIntegral<uint8_t>();
      spec.setRows(rows == 255   ? data_.ConsumeIntegral<int64_t>() | int64_t{1} << 50
                   : rows >= 200 ? rows
                                 : -1);
      spec.setDtype(data_.ConsumeBool() ? static_cast<uint8_t>(DType::kFloat32)
                                        : data_.ConsumeIntegral<uint8_t>() % 16);
      auto shape = spec.initRowShape(data_.ConsumeIntegral<uint8_t>() % 3);
      for (kj::uint d = 0; d < shape.size(); d++) {
        shape.set(d, data_.ConsumeBool() ? 2 : Some<int64_t>());
      }
      auto initializer = spec.initInitializer();
      initializer.setKind(data_.ConsumeIntegral<uint8_t>() % 4);
      initializer.setA(data_.ConsumeFloatingPoint<double>());
      spec.setWriters(data_.ConsumeIntegral<uint8_t>() % 3);
      request.setCreate(data_.ConsumeIntegral<uint8_t>() % 4 != 0);
      request.setCallerFills(data_.ConsumeIntegral<uint8_t>() % 4 == 0);
      Send(kj::mv(request),
           [tables = tables_](auto& response) { tables->insert(response.getInfo().getTable()); });
      return;
    }
    case 2: {
      auto request = session.filledRequest();
      request.setTable(Table());
      request.setGivenUp(data_.ConsumeBool());
      Send(kj::mv(request));
      return;
    }
    case 3: {
      auto request = session.mapTensorRequest();
      request.setTable(Table());
      Send(kj::mv(request));
      return;
    }
    case 4: {
      auto request = session.readRowsRequest();
      request.setTable(Table());
      request.setIds(Data(Ids()));
      Send(kj::mv(request));
      return;
    }
    case 5:
    case 6: {
      auto request = session.pushRequest();
      request.setTable(Table());
      auto client = request.initClient();
      client.setHigh(data_.ConsumeIntegral<uint8_t>() % 2);
      client.setLow(ParseInt(daemon_.unique(), "number"));
      request.setSequence(Some<uint64_t>());
      FillChange(data_, Ids(), request);
      Send(kj::mv(request));
      return;
    }
    case 7: {
      auto request = session.stageRequest();
      request.setTable(Table());
      request.setStep(Some<uint64_t>());
      FillChange(data_, Ids(), request);
      Send(kj::mv(request));
      return;
    }
    case 8: {
      auto request = session.lastStepRequest();
      request.setTable(Table());
      Send(kj::mv(request));
      return;
    }
    case 9: {
      auto request = session.leaseRequest();
      request.setTable(Table());
      request.setHold(data_.ConsumeBool());
      Send(kj::mv(request));
      return;
    }
    case 10: {
      auto request = session.prepareStateRequest();
      request.setTable(Table());
      request.setState(data_.ConsumeIntegral<uint8_t>() % 5);
      Send(kj::mv(request));
      return;
    }
    case 11: {
      auto request = session.dropTensorRequest();
      request.setTable(Table());
      Send(kj::mv(request));
      return;
    }
    default:
      Send(session.pushMemoryRequest());
  }
}

void Calls::CallCheckpoints(Client& client, int call) {
  KJ_IF_MAYBE (session, client.session) {
    if (client.checkpoints == nullptr) {
      client.checkpoints = Send(session->checkpointsRequest()).getService();
    }
  }
  KJ_IF_MAYBE (service, client.checkpoints) {
    switch (call) {
      case 0:
      case 1: {
        auto request = service->prepareRequest();
        request.setName(data_.ConsumeBool() ? "c" : Name());
        auto names = request.initTensors(data_.ConsumeIntegral<uint8_t>() % 3);
        for (kj::uint i = 0; i < names.size(); i++) names.set(i, Name());
        request.setId(Name());
        client.making = Send(kj::mv(request)).getMaking();
        return;
      }
      case 2: {
        auto request = service->listRequest();
        if (data_.ConsumeBool()) request.setAfter(Name());
        Send(kj::mv(request));
        return;
      }
      case 3: {
        auto request = service->readRowsRequest();
        request.setName(Name());
        request.setPart(Some<int32_t>());
        request.setTensor(Name());
        request.setBegin(Some<int64_t>());
        request.setCount(Some<int64_t>());
        Send(kj::mv(request));
        return;
      }
      case 4: {
        auto request = service->readFileRequest();
        request.setName(Name());
        request.setFile(Name());
        request.setOffset(Some<uint64_t>());
        request.setCount(Some<uint64_t>());
        Send(kj::mv(request));
        return;
      }
      case 5: {
        auto request = service->deleteRequest();
        request.setName(Name());
        Send(kj::mv(request));
        return;
      }
      case 6: {
        auto request = service->originalIdsRequest();
        request.setName(Name());
        request.setPart(Some<int32_t>());
        request.setTensor(Name());
        request.setBegin(Some<int64_t>());
        request.setCount(Some<int64_t>());
        Send(kj::mv(request));
        return;
      }
      case 7: {
        auto request = service->loadingRequest();
        request.setTable(Table());
        request.setOn(data_.ConsumeBool());
        Send(kj::mv(request));
        return;
      }
      default:
        break;
    }
  }
  KJ_IF_MAYBE (making, client.making) {
    if (call == 8 || call == 9) Send(making->holdRequest());
    if (call == 10 || call == 11) Send(making->takeRequest());
    if (call == 12) {
      auto request = making->addFileRequest();
      request.setFile(Name());
      request.setOffset(Some<uint64_t>());
      FillData(data_, [&](kj::uint size) { return request.initData(size); });
      Send(kj::mv(request));
    }
    if (call == 13) {
      auto request = making->commitRequest();
      request.setManifest(Text(data_));
      Send(kj::mv(request));
    }
  }
}

}  // namespace

void ReadInput(std::string_view input) {
  static auto& services = *new DaemonServices;
  Calls(services, input).Run();
}

std::vector<std::string> Seeds() { return SeedsOfTypedCalls(); }

}  // namespace graphd::fuzz
