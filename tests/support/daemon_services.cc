// SPDX-License-Identifier: Apache-2.0
#include "tests/support/daemon_services.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/socket.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <numeric>

#include "base/log.h"
#include "base/strings.h"
#include "daemon/serving/served_connection.h"
#include "format/load.h"
#include "format/load_part_config.h"
#include "format/partitioner.h"
#include "tests/unit/format/raw_graph_samples.h"

namespace graphd::testing {
namespace {

namespace fs = std::filesystem;

constexpr uid_t kReader = 1001, kWriter = 1002, kNobody = 1003;
// A fault if the services need longer to end a connection.
constexpr int kEndMilliseconds = 8000;

std::string MakeDirectory() {
  std::string path = (fs::temp_directory_path() / "graphd_fuzz_XXXXXX").string();
  if (::mkdtemp(path.data()) == nullptr) ThrowErrno("can't create", path);
  return path;
}

std::unique_ptr<ServedGraph> MakeGraph(const std::string& directory) {
  PartitionOptions options;
  options.graph_name = "g";
  options.num_parts = 2;
  options.method = PartMethod::kRandom;
  options.output = directory;
  const PartConfig config =
      LoadPartConfig(PartitionGraph(TypedGraph(20, 30, 1), options).part_config);
  return std::make_unique<ServedGraph>(std::vector<std::shared_ptr<const Partition>>{
      LoadPartition(config, 0), LoadPartition(config, 1)});
}

std::vector<std::byte> RowsOf(store::TensorHost& tensors, const TensorShare& share) {
  const auto found = tensors.FindToRead(DaemonServices::kVictimsJob, share.table);
  std::vector<int64_t> rows(static_cast<size_t>(share.stored_rows));
  std::iota(rows.begin(), rows.end(), 0);
  std::vector<std::byte> bytes(rows.size() * DaemonServices::kRowBytes);
  found->table->Read(rows, bytes.data());
  return bytes;
}

}  // namespace

void Fail(const std::string& text) {
  std::fprintf(stderr, "an input caused: %s\n", text.c_str());
  std::abort();
}

// A connection whose end is noticed on this thread.
struct DaemonServices::Input::Served {
  Served(Input& input, UniqueFd fd, const Peer& peer, kj::Own<DaemonService> service)
      : served(WrapSocket(*input.services_.io_.lowLevelProvider, std::move(fd), true),
               input.services_.io_.provider->getTimer(), *input.context_, kj::mv(service), peer,
               nullptr),
        gone(served.connection()
                 .OnDisconnect()
                 .then([this] { is_gone = true; }, [this](kj::Exception&&) { is_gone = true; })
                 .eagerlyEvaluate(nullptr)) {}
  bool is_gone = false;
  ServedConnection served;
  kj::Promise<void> gone;
};

// Reports to tensors and steps which jobs attach and leave, as the daemon's main thread does.
struct DaemonServices::Input::Watch final : JobRegistry::Observer {
  Watch(GraphVersions& versions, store::TensorHost& host, StepGate& gate)
      : graphs(versions), tensors(host), steps(gate) {}
  void OnJobJoined(const std::string& job) override {
    tensors.OnJobJoined(job);
    steps.OnJobJoined(job);
  }
  void OnJobLeft(const std::string& job) override {
    tensors.OnJobLeft(job);
    steps.OnJobLeft(job);
    graphs.OnJobLeft(job);
  }
  void TrainerLeft(const std::string& job, int rank) override { steps.TrainerLeft(job, rank); }
  void OnAttemptBegun(const std::string& job, uint32_t attempt) override {
    steps.OnAttemptBegun(job, attempt);
  }
  GraphVersions& graphs;
  store::TensorHost& tensors;
  StepGate& steps;
};

DaemonServices::Input::Input(DaemonServices& services)
    : services_(services),
      unique_(std::to_string(100'000'000 + services.inputs_++)),
      steps_(*services.tensors_, pushes_),
      watch_(std::make_unique<Watch>(*services.graphs_, *services.tensors_, steps_)),
      jobs_(
          false, [] {}, watch_.get()),
      pools_(1, false),
      memory_(uint64_t{1} << 30),
      turns_(services.io_.provider->getTimer()) {
  services.input_ = this;
  const Peer root = PeerOfRole(Role::kOperator, true);
  JobMember member;
  member.job_id = kVictimsJob;
  member.secret = "a secret that no input contains";
  victim_ = jobs_.Join(member, root);
  info_.server_name = kServerName;
  info_.listening = {"127.0.0.1:30050", "/run/graphd/fuzzed.sock"};
  info_.request_stop = [this](double) { stops_++; };
  context_ = std::make_unique<ServiceContext>(
      ServiceContext{*services.access_, *services.graphs_, *services.tensors_,
                     *services.checkpoints_, steps_, *pushes_, jobs_, board_, pools_, counters_,
                     in_flight_, memory_, services.buffers_, nullptr, nullptr});
}

UniqueFd DaemonServices::Input::Connect(const Peer& peer, bool may_stay) {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends) != 0) {
    ThrowErrno("can't make", "a socket pair");
  }
  UniqueFd mine(ends[0]);
  auto service =
      kj::heap<DaemonService>(*context_, info_, peer, scratch_, services_.io_.provider->getTimer(),
                              turns_, [may_stay] { return may_stay; });
  served_.push_back(kj::heap<Served>(*this, UniqueFd(ends[1]), peer, kj::mv(service)));
  return mine;
}

bool DaemonServices::Input::IsIdle(size_t which) {
  return served_.at(which)->served.service().is_idle();
}

bool DaemonServices::Input::EndConnection(size_t which, int rounds) {
  if (served_.empty()) return false;
  kj::WaitScope& scope = services_.io_.waitScope;
  scope.setBusyPollInterval(1);  // sockets are looked at in each round
  for (int i = 0; i < rounds; i++) kj::evalLater([] {}).wait(scope);
  scope.setBusyPollInterval(kj::maxValue);
  const auto ended = served_.begin() + static_cast<ptrdiff_t>(which % served_.size());
  const bool is_attached = (*ended)->served.service().is_attached();
  served_.erase(ended);
  return is_attached;
}

void DaemonServices::Input::EndDisconnected() {
  std::erase_if(served_, [](const auto& each) { return each->is_gone; });
}

DaemonServices::Input::~Input() noexcept {
  if (!services_.RunUntil(kEndMilliseconds, [&] { return served_.empty(); })) {
    Fail("a connection that does not end");
  }
  // Pushes that waited for a checkpoint go on when it is abandoned, on the pool.
  if (!services_.RunUntil(kEndMilliseconds, [&] { return jobs_.num_jobs() == 1; })) {
    Fail("a session that outlives its connection");
  }
  pools_.Stop();
  pushes_->Stop();
  services_.RunUntil(0, [] { return false; });
  services_.input_ = nullptr;
  services_.EndPushes();
  if (!services_.RunUntil(kEndMilliseconds, [&] { return memory_.used() == 0; })) {
    Fail("memory that outlives its connection");
  }
  victim_ = nullptr;
  services_.CheckVictim();
  if (!services_.RemoveTensors()) services_.MakeTensors();
}

DaemonServices::DaemonServices() : io_(kj::setupAsyncIo()), directory_(MakeDirectory()) {
  // Files may grow to a limit only (main.cc). A daemon sees that as it sees a full disk.
  ::signal(SIGXFSZ, SIG_IGN);
  ::signal(SIGPIPE, SIG_IGN);
  SetLogLevel(LogLevel::kError);
  graph_ = MakeGraph(directory_ + "/graph");
  graphs_ = std::make_unique<GraphVersions>(
      std::make_shared<GraphVersion>(GraphVersion{"", part_config(), "0", graph_}),
      GraphVersions::Grace{.after_job = 0, .after_switch = 0});
  AccessRules::Options access;
  access.readers = {StrCat("user:", kReader)};
  access.writers = {StrCat("user:", kWriter)};
  access_ = std::make_unique<AccessRules>(access);
  checkpoints_ = std::make_unique<store::CheckpointCatalog>(directory_ + "/checkpoints", "own");
  MakeTensors();
}

DaemonServices::~DaemonServices() noexcept {
  tensors_ = nullptr;
  std::error_code ignored;
  fs::remove_all(directory_, ignored);
}

bool DaemonServices::RunUntil(int milliseconds, const std::function<bool()>& done) {
  const auto start = Clock::now();
  for (;;) {
    io_.waitScope.poll();
    if (input_ != nullptr) input_->EndDisconnected();
    if (done()) return true;
    const double passed = SecondsSince(start) * 1000;
    if (passed >= milliseconds) return false;
    // Other threads wake the loop; the timer bounds the wait.
    io_.provider->getTimer().afterDelay(200 * kj::MICROSECONDS).wait(io_.waitScope);
  }
}

void DaemonServices::MakeTensors() {
  tensors_ = nullptr;
  std::error_code ignored;
  for (const char* each : {"/store", "/memory"}) fs::remove_all(directory_ + each, ignored);
  fs::create_directory(directory_ + "/memory");
  fs::permissions(directory_ + "/memory", fs::perms::owner_all);
  store::TensorHost::Options options;
  options.store.directory = directory_ + "/store";
  options.store.memory_dir = directory_ + "/memory";
  options.store.threads = 1;
  options.store.log_segment_bytes = uint64_t{1} << 20;
  options.store.max_tables = 64;
  options.max_shares_of_job = 24;
  options.lease_seconds = 0;
  tensors_ = std::make_unique<store::TensorHost>(graph_->partitions()[0]->shared_meta(),
                                                 std::vector<PartId>{0, 1}, std::move(options));
  MakeStanding();
}

void DaemonServices::MakeStanding() {
  tensors_->OnJobJoined(kVictimsJob);
  standing_.clear();
  for (const char* name : {kVictim, kShared}) {
    TensorSpec spec;
    spec.name = name;
    spec.row_shape = {2};
    spec.persistent = name == kShared;
    spec.writers = name == kShared ? TensorWriters::kMany : TensorWriters::kExclusive;
    for (const PartId part : {0, 1}) {
      standing_.push_back(
          tensors_->Open({kVictimsJob, 1}, part, spec, /*create=*/true, false).share);
    }
  }
}

// Waits until all pushes are done.
void DaemonServices::EndPushes() {
  try {
    tensors_->store().HoldPushes();
  } catch (const Error& error) {
    Fail(StrCat("a checkpoint that outlives its client: ", error.what()));
  }
}

void DaemonServices::CheckVictim() {
  const std::string trouble = tensors_->trouble();
  if (!trouble.empty()) Fail("trouble of the store: " + trouble);
  for (const TensorShare& share : standing_) {
    if (share.info.spec.persistent) continue;
    const auto bytes = RowsOf(*tensors_, share);
    if (std::any_of(bytes.begin(), bytes.end(), [](std::byte b) { return b != std::byte{0}; })) {
      Fail("a change of another job's tensor");
    }
  }
}

// Removes the tensors and checkpoints of an input. Returns false if the standing tensors are no
// longer as they were.
bool DaemonServices::RemoveTensors() {
  try {
    for (const std::string& name : checkpoints_->own().Names()) checkpoints_->own().Delete(name);
    size_t kept = 0;
    for (const TensorShare& share : tensors_->ListAll()) {
      const auto same = std::find_if(standing_.begin(), standing_.end(), [&](const auto& each) {
        return each.table == share.table && each.info.state == share.info.state &&
               each.trouble == share.trouble;
      });
      if (same != standing_.end()) {
        tensors_->FindToRead(kVictimsJob, share.table);  // throws if it is being restored
        kept++;
      } else {
        return false;
      }
    }
    return kept == standing_.size();
  } catch (const Error&) {
    return false;
  }
}

Peer DaemonServices::PeerOfRole(Role role, bool is_unix) {
  Peer peer;
  peer.is_unix = is_unix;
  peer.pid = is_unix ? 4711 : 0;
  peer.uid = role == Role::kOperator ? 0
             : role == Role::kWriter ? kWriter
             : role == Role::kReader ? kReader
                                     : kNobody;
  peer.gids = {peer.uid.value()};
  peer.text = is_unix ? "unix" : "10.0.0.1:4711";
  return peer;
}

}  // namespace graphd::testing
