// SPDX-License-Identifier: Apache-2.0
#include "client/checkpoints/client.h"

#include <algorithm>
#include <ctime>
#include <optional>
#include <random>
#include <set>

#include "base/log.h"
#include "base/strings.h"
#include "client/checkpoints/peer.h"
#include "client/link/answer_checks.h"
#include "client/link/book_calls.h"
#include "client/link/restart_count.h"
#include "store/checkpoint/set.h"
#include "store/rows/apply_rule.h"
#include "wire/bounded.h"
#include "wire/graph_messages.h"
#include "wire/tensor_messages.h"

namespace graphd {
namespace {

constexpr size_t kFilePiece = size_t{8} << 20;  // bytes
constexpr size_t kRowPiece = size_t{4} << 20;   // bytes
// The time limit of a call that makes daemons hold pushes: a little longer than the time for which
// a daemon holds them and lets other calls of this kind wait for their turn.
constexpr std::chrono::seconds kHoldLimit{90};

std::string TimeNow() {
  const std::time_t now = std::time(nullptr);
  std::tm utc{};
  ::gmtime_r(&now, &utc);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &utc);
  return text;
}

std::string RandomId() {
  std::random_device random;
  return StrCat(std::hex, random(), "-", random());
}

}  // namespace

CheckpointClient::CheckpointClient(const Options& options, Empty) : options_(options) {}

// Because this constructor delegates to another one, the destructor runs even if this one throws,
// and destroys the peers on the RPC thread.
CheckpointClient::CheckpointClient(const Options& options, const std::string& runtime_dir)
    : CheckpointClient(options, Empty()) {
  if (options_.server_name.empty() || options_.ip_config.empty()) {
    Throw(ErrorCode::kInvalid,
          "checkpoints are stored by servers; give a server name and an ip_config");
  }
  CheckServerName(options_.server_name);
  const auto buffers = BufferPool::Create();
  const int timeout_ms = static_cast<int>(options_.timeout.count());
  for (const DaemonAddress& address : DaemonsOf(ReadIpConfig(options_.ip_config))) {
    const bool local = options_.transport == Transport::kUnix ||
                       (options_.transport == Transport::kAuto && IsLocalAddress(address.address));
    const std::string socket = FindSocket(options_.server_name, address.port, runtime_dir);
    ClientCredentials mine;
    if (!local) mine = ReadCredentials(options_.keys, options_.secret_file, options_.server_name);
    ClientSocket connected = local ? ClientSocket{ConnectUnix(socket, timeout_ms), true}
                                   : ConnectTcp(address.address, address.port, timeout_ms,
                                                mine.keys.get(), mine.secret.get());
    Peer* const peer = peers_.emplace_back(std::make_unique<Peer>()).get();
    peer->name = local ? socket : HostPort(address.address, address.port);
    peer->parts = address.parts;
    thread_.Run([&] {
      peer->connection =
          std::make_unique<Connection>(thread_.provider(), std::move(connected), buffers);
      peer->daemon = peer->connection->Bootstrap();
    });
  }
  if (peers_.empty()) Throw(ErrorCode::kInvalid, options_.ip_config, " names no daemon");
  // The first daemon decides which version of the graph this is, and the others are asked for it.
  Peer& first = *peers_.front();
  std::optional<std::string> version;
  std::optional<ReceivedGraph> graph;
  const Call attach = [this, &first, &version, &graph](Peer& peer) {
    auto request = KJ_ASSERT_NONNULL(peer.daemon).attachRequest();
    WriteHello(request.initHello());
    request.setServerName(options_.server_name);
    if (version) request.setWantVersion(*version);
    JobMember member;
    member.job_id = options_.job_id;
    member.secret = options_.job_secret;
    member.role = JobRole::kBulk;
    member.rank = options_.rank;
    member.world_size = options_.world_size;
    member.attempt = RestartCount();
    member.command = "checkpoint";
    WriteMember(member, request.initMember());
    return request.send().then([this, &first, &version, &graph, &peer](auto&& response) {
      AsKj([&] {
        CheckHello(response.getHello(), "the graphd at " + peer.name);
        ReceivedGraph received(response.getGraph(), "the graphd at " + peer.name);
        if (meta_ != nullptr && !received.IsSameAs(*meta_)) {
          Throw(ErrorCode::kInvalid, "the graphd at ", peer.name,
                " serves another graph than the one at ", first.name,
                ", or the same cut differently; start both with the same part config");
        }
        if (meta_ == nullptr && response.hasVersion()) version = response.getVersion().cStr();
        if (meta_ == nullptr) graph.emplace(std::move(received));
      });
      peer.session = response.getSession();
      return peer.graph().checkpointsRequest().send().then(
          [&peer](auto&& answer) { peer.service = answer.getService(); });
    });
  };
  On(first, "attaching", options_.timeout, attach);
  meta_ = graph->Complete(
      [this, &first](const ReceivedGraph::Missing& missing, std::span<int32_t> owners) {
        for (size_t piece = 0; piece < OwnersPieces(owners); piece++) {
          On(first, "reading the partition book", options_.timeout, [&](Peer& peer) {
            return ReadOwnersPiece(peer.graph(), missing, piece, owners, peer.name);
          });
        }
      });
  OnAllBut(&first, "attaching", options_.timeout, attach);
}

CheckpointClient::~CheckpointClient() {
  thread_.Run([this] { peers_.clear(); });
}

void CheckpointClient::On(Peer& peer, const std::string& what, std::chrono::milliseconds limit,
                          const Call& call) {
  thread_.Start([&] { return call(peer); }, limit, StrCat("the graphd at ", peer.name, ", ", what))
      .Wait();
}

void CheckpointClient::OnAll(const std::string& what, std::chrono::milliseconds limit,
                             const Call& call) {
  OnAllBut(nullptr, what, limit, call);
}

void CheckpointClient::OnAllBut(const Peer* excluded, const std::string& what,
                                std::chrono::milliseconds limit, const Call& call) {
  std::vector<RpcThread::Pending> pending;
  for (const auto& peer : peers_) {
    if (peer.get() == excluded) continue;
    pending.push_back(thread_.Start([&call, &peer = *peer] { return call(peer); }, limit,
                                    StrCat("the graphd at ", peer->name, ", ", what)));
  }
  std::exception_ptr first;
  for (RpcThread::Pending& each : pending) {
    try {
      each.Wait();
    } catch (const Error&) {
      if (!first) first = std::current_exception();
    }
  }
  if (first) std::rethrow_exception(first);
}

CheckpointClient::Peer& CheckpointClient::FirstPeer() {
  for (const auto& peer : peers_) {
    if (std::count(peer->parts.begin(), peer->parts.end(), 0) != 0) return *peer;
  }
  Throw(ErrorCode::kInvalid, options_.ip_config, " has no line for partition 0");
}

std::vector<CheckpointClient::Found> CheckpointClient::FindAll() {
  struct Entry {
    std::string name, id, manifest, trouble;
    std::vector<PartId> parts;
    Peer* peer;
  };
  std::vector<Entry> entries;  // filled on the RPC thread
  // Each answer has some of the checkpoints, because the manifests of all may not fit into one
  // message.
  using List = std::function<kj::Promise<void>(Peer & peer, const std::string& after)>;
  const List list = [&entries, &list](Peer& peer, const std::string& after) {
    auto request = peer.checkpoints().listRequest();
    request.setAfter(after);
    return request.send().then([&entries, &list, &peer](auto&& response) -> kj::Promise<void> {
      for (auto each : BoundedList(response.getCheckpoints(), "checkpoints")) {
        Entry entry{each.getName().cStr(),
                    each.getId().cStr(),
                    each.getManifest().cStr(),
                    each.getTrouble().cStr(),
                    {},
                    &peer};
        for (const PartId part : each.getParts()) entry.parts.push_back(part);
        entries.push_back(std::move(entry));
      }
      if (!response.getMore() || response.getCheckpoints().size() == 0) return kj::READY_NOW;
      return list(peer, std::string(entries.back().name));
    });
  };
  OnAll("listing checkpoints", options_.timeout, [&list](Peer& peer) { return list(peer, ""); });
  std::map<std::string, Found> by_name;
  for (const Entry& entry : entries) {
    Found& found = by_name[entry.name];
    found.name = entry.name;
    if (!entry.trouble.empty()) {
      found.trouble = StrCat("the graphd at ", entry.peer->name, ": ", entry.trouble);
      LogWarning("checkpoint '", entry.name, "' is damaged: ", found.trouble);
    }
    if (entry.manifest.empty() || found.with_manifest != nullptr) continue;
    try {
      found.manifest = DecodeManifest(entry.manifest, meta_->schema);
      if (found.manifest.id == entry.id) found.with_manifest = entry.peer;
    } catch (const Error& error) {
      LogWarning("checkpoint '", entry.name, "' at ", entry.peer->name, ": ", error.what());
    }
  }
  for (const Entry& entry : entries) {
    Found& found = by_name[entry.name];
    if (found.with_manifest == nullptr || found.manifest.id != entry.id) continue;
    for (const PartId part : entry.parts) found.places.try_emplace(part, entry.peer);
  }
  std::vector<Found> all;
  for (auto& [name, found] : by_name) {
    const Checkpoint& checkpoint = found.manifest.checkpoint;
    // A checkpoint without tensors has only the part with the manifest.
    if (found.with_manifest != nullptr && !checkpoint.tensors.empty() &&
        found.places.size() != static_cast<size_t>(checkpoint.num_parts)) {
      found.with_manifest = nullptr;
    }
    all.push_back(std::move(found));
  }
  return all;
}

CheckpointClient::Found CheckpointClient::FindOne(const std::string& name) {
  store::CheckCheckpointName(name);
  std::vector<std::string> names;
  for (Found& found : FindAll()) {
    if (found.name == name && !found.trouble.empty()) {
      Throw(ErrorCode::kCorrupt, "checkpoint '", name, "' is damaged: ", found.trouble,
            "; take another one, or delete it");
    }
    if (found.with_manifest == nullptr) continue;
    if (found.name == name) return std::move(found);
    names.push_back(found.name);
  }
  Throw(ErrorCode::kNotFound, "there is no checkpoint '", name, "'; there ",
        names.empty() ? "are none" : (names.size() == 1 ? "is " : "are ") + Join(names, ", "));
}

std::vector<Checkpoint> CheckpointClient::List() {
  std::vector<Checkpoint> all;
  for (Found& found : FindAll()) {
    if (found.with_manifest == nullptr || !found.trouble.empty()) continue;
    all.push_back(std::move(found.manifest.checkpoint));
  }
  return all;
}

Checkpoint CheckpointClient::Find(const std::string& name) {
  return FindOne(name).manifest.checkpoint;
}

void CheckpointClient::Delete(const std::string& name) {
  store::CheckCheckpointName(name);
  const std::vector<Found> all = FindAll();
  const auto found =
      std::find_if(all.begin(), all.end(), [&](const Found& each) { return each.name == name; });
  if (found == all.end()) {
    FindOne(name);  // throws and lists the existing checkpoints
    return;
  }
  const Call remove = [&name](Peer& peer) {
    auto request = peer.checkpoints().deleteRequest();
    request.setName(name);
    return request.send().ignoreResult();
  };
  // The manifest is deleted first: without it the checkpoint does not exist, even if deleting the
  // rest fails.
  if (found->with_manifest != nullptr) {
    On(*found->with_manifest, "deleting a checkpoint", kDiskLimit, remove);
  }
  OnAll("deleting a checkpoint", kDiskLimit, remove);
}

void CheckpointClient::Create(const std::string& name, const CheckpointOptions& options) {
  store::CheckCheckpointName(name);
  for (const auto& [file, contents] : options.files) store::CheckKeptFileName(file);
  for (const Found& found : FindAll()) {
    if (found.name != name) continue;
    if (found.with_manifest != nullptr || !found.trouble.empty()) {
      Throw(ErrorCode::kExists, "there is a checkpoint '", name,
            "' already; choose another name, or delete it");
    }
    Delete(name);  // removes the parts of an interrupted creation
  }
  Manifest manifest;
  manifest.id = RandomId();
  Checkpoint& checkpoint = manifest.checkpoint;
  checkpoint.name = name;
  checkpoint.graph_name = meta_->graph_name;
  checkpoint.num_parts = meta_->book.num_partitions();
  checkpoint.created = TimeNow();
  try {
    OnAll("preparing a checkpoint", kDiskLimit, [&](Peer& peer) {
      auto request = peer.checkpoints().prepareRequest();
      request.setName(name);
      request.setId(manifest.id);
      auto names = request.initTensors(static_cast<kj::uint>(options.tensors.size()));
      for (kj::uint i = 0; i < names.size(); i++) names.set(i, options.tensors[i]);
      return request.send().then([&peer](auto&& answer) { peer.making = answer.getMaking(); });
    });
    Peer& first = FirstPeer();
    for (const auto& [file, contents] : options.files) {
      for (size_t at = 0; at == 0 || at < contents.size(); at += kFilePiece) {
        const size_t size = std::min(kFilePiece, contents.size() - at);
        On(first, "storing file '" + file + "'", options_.timeout,
           [&, &file = file, &contents = contents](Peer& peer) {
             auto request = peer.current().addFileRequest();
             request.setFile(file);
             request.setOffset(at);
             request.setData(capnp::Data::Reader(
                 reinterpret_cast<const kj::byte*>(contents.data()) + at, size));
             return request.send().ignoreResult();
           });
      }
      checkpoint.files[file] = contents.size();
      checkpoint.bytes += contents.size();
    }
    OnAll("pausing pushes", kHoldLimit,
          [](Peer& peer) { return peer.current().holdRequest().send().ignoreResult(); });
    std::map<std::string, CheckpointTensor> tensors;
    OnAll("taking a checkpoint", kHoldLimit, [&](Peer& peer) {
      return peer.current().takeRequest().send().then([&](auto&& answer) {
        checkpoint.bytes += answer.getBytes();
        for (auto each : BoundedList(answer.getTensors(), "tensors")) {
          const TensorShare share = ReadShare(each);
          CheckpointTensor& tensor = tensors[share.info.spec.name];
          tensor.spec = share.info.spec;
          tensor.state = std::max(tensor.state, share.info.state);
        }
      });
    });
    for (auto& [tensor_name, tensor] : tensors) checkpoint.tensors.push_back(std::move(tensor));
    const std::string text = EncodeManifest(manifest, meta_->schema);
    const auto commit = [&](Peer& peer) {
      auto request = peer.current().commitRequest();
      if (&peer == &first) request.setManifest(text);
      return request.send().ignoreResult();
    };
    OnAll("committing a checkpoint", kDiskLimit, [&](Peer& peer) -> kj::Promise<void> {
      if (&peer == &first) return kj::READY_NOW;
      return commit(peer);
    });
    On(first, "committing a checkpoint", kDiskLimit, commit);
  } catch (const Error&) {
    thread_.Run([this] {
      for (const auto& peer : peers_) peer->making = nullptr;
    });
    throw;
  }
  thread_.Run([this] {
    for (const auto& peer : peers_) peer->making = nullptr;
  });
}

std::string CheckpointClient::ReadFileOf(const Found& found, const std::string& file) {
  const auto known = found.manifest.checkpoint.files.find(file);
  if (known == found.manifest.checkpoint.files.end()) {
    std::vector<std::string> names;
    for (const auto& [name, bytes] : found.manifest.checkpoint.files) names.push_back(name);
    Throw(ErrorCode::kNotFound, "checkpoint '", found.name, "' has no file '", file, "'; it has ",
          names.empty() ? "none" : Join(names, ", "));
  }
  std::string contents;
  while (contents.size() < known->second) {
    const size_t before = contents.size();
    On(*found.with_manifest, "reading file '" + file + "'", options_.timeout, [&](Peer& peer) {
      auto request = peer.checkpoints().readFileRequest();
      request.setName(found.name);
      request.setFile(file);
      request.setOffset(before);
      request.setCount(kFilePiece);
      return request.send().then([&contents](auto&& answer) {
        const auto data = answer.getData();
        contents.append(reinterpret_cast<const char*>(data.begin()), data.size());
      });
    });
    if (contents.size() == before) break;
  }
  if (contents.size() != known->second) {
    Throw(ErrorCode::kCorrupt, "file '", file, "' of checkpoint '", found.name, "' has ",
          contents.size(), " bytes, not the ", known->second, " of the manifest");
  }
  return contents;
}

std::string CheckpointClient::ReadFile(const std::string& name, const std::string& file) {
  return ReadFileOf(FindOne(name), file);
}

void CheckpointClient::EachRows(const Checkpoint& checkpoint, const CheckpointTensor& tensor,
                                const std::function<void(const Rows&)>& f) {
  const Found found = FindOne(checkpoint.name);
  const TensorSpec& spec = tensor.spec;
  const size_t row_bytes = spec.row_bytes();
  const size_t state_bytes = store::StateFloats(tensor.state, spec.row_elements()) * sizeof(float);
  const auto per_piece =
      static_cast<int64_t>(std::max<size_t>(kRowPiece / (row_bytes + state_bytes), 1));
  int64_t done = 0;
  for (const auto& [part, peer] : found.places) {
    std::vector<std::byte> ids;
    int64_t ids_begin = 0, ids_end = 0;
    for (int64_t begin = 0;;) {
      if (spec.policy != TensorPolicy::kRange && begin >= ids_end && (begin == 0 || !ids.empty())) {
        // The first call for a part makes the daemon check all of the part's files.
        On(*peer, "reading original ids", kDiskLimit, [&, part = part](Peer& at) {
          auto request = at.checkpoints().originalIdsRequest();
          request.setName(checkpoint.name);
          request.setPart(part);
          request.setTensor(spec.name);
          request.setBegin(begin);
          request.setCount(kCheckpointIdPiece);
          return request.send().then([&](auto&& answer) { ids = CopyBytes(answer.getIds()); });
        });
        if (ids.size() % sizeof(int64_t) != 0 ||
            ids.size() / sizeof(int64_t) > static_cast<size_t>(kCheckpointIdPiece)) {
          Throw(ErrorCode::kCorrupt, "the graphd at ", peer->name, " sent ", ids.size(),
                " bytes of original ids of tensor '", spec.name, "'");
        }
        ids_begin = begin;
        ids_end = begin + static_cast<int64_t>(ids.size() / sizeof(int64_t));
      }
      std::vector<std::byte> values, states;
      const int64_t wanted = ids.empty() ? per_piece : std::min(per_piece, ids_end - begin);
      On(*peer, "reading rows", kDiskLimit, [&, part = part](Peer& at) {
        auto request = at.checkpoints().readRowsRequest();
        request.setName(checkpoint.name);
        request.setPart(part);
        request.setTensor(spec.name);
        request.setBegin(begin);
        request.setCount(wanted);
        return request.send().then([&](auto&& answer) {
          values = CopyBytes(answer.getRows());
          states = CopyBytes(answer.getStates());
        });
      });
      const auto count = static_cast<int64_t>(values.size() / row_bytes);
      if (count == 0) break;
      if (values.size() % row_bytes != 0 || count > wanted ||
          (!states.empty() && states.size() != static_cast<size_t>(count) * state_bytes)) {
        Throw(ErrorCode::kCorrupt, "the graphd at ", peer->name, " sent ", values.size(),
              " bytes of rows and ", states.size(), " of states of tensor '", spec.name, "'");
      }
      if (ids.empty() && ids_end > 0) {
        Throw(ErrorCode::kCorrupt, "the graphd at ", peer->name, " has only ", ids_end,
              " original ids for the rows of tensor '", spec.name, "'");
      }
      Rows rows{part, begin, count, {}, values, states};
      if (!ids.empty()) {
        rows.orig_ids = {reinterpret_cast<const int64_t*>(ids.data()) + (begin - ids_begin),
                         static_cast<size_t>(count)};
      }
      f(rows);
      begin += count;
      done += count;
      if (on_progress) on_progress(spec.name, done, spec.rows);
    }
  }
  if (done != spec.rows) {
    Throw(ErrorCode::kCorrupt, "checkpoint '", checkpoint.name, "' has ", done, " rows of tensor '",
          spec.name, "' and should have ", spec.rows);
  }
}

}  // namespace graphd
