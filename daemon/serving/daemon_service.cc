// SPDX-License-Identifier: Apache-2.0
#include "daemon/serving/daemon_service.h"

#include "base/log.h"
#include "base/strings.h"
#include "daemon/requests/segment_handle.h"
#include "daemon/serving/control_service.h"
#include "daemon/serving/graph_session.h"
#include "daemon/serving/server_status.h"
#include "wire/bounded.h"
#include "wire/graph_messages.h"
#include "wire/ip_config.h"
#include "wire/status.h"

namespace graphd {
namespace {

// A connection is closed if it makes no first call within this time.
constexpr double kFirstCallSeconds = 10;
// While an answer waits to be written, the connection reads no further calls. But calls that wait
// for a pool have no answer yet, so any number of them would be read. Beyond this number, a call of
// `status` is therefore refused at once.
constexpr int kMaxStatuses = 8;

void WriteFeature(bool is_edge, int32_t type, const FeatureInfo& info, const FeatureTable& table,
                  wire::Feature::Builder out) {
  out.setIsEdge(is_edge);
  out.setType(type);
  out.setName(info.name);
  out.setDtype(static_cast<uint8_t>(info.dtype));
  auto shape = out.initRowShape(static_cast<kj::uint>(info.row_shape.size()));
  for (kj::uint d = 0; d < shape.size(); d++) shape.set(d, info.row_shape[d]);
  if (table.encoding().is_plain()) return;
  auto encoding = out.initEncoding();
  encoding.setStored(static_cast<uint8_t>(table.encoding().stored));
  encoding.setScale(table.encoding().scale);
}

void WriteFeatures(const Partition& partition, wire::PartitionInfo::Builder out) {
  const Schema& schema = partition.meta().schema;
  size_t count = 0;
  for (NodeTypeId t = 0; t < schema.num_ntypes(); t++) count += partition.node_features(t).size();
  for (EdgeTypeId e = 0; e < schema.num_etypes(); e++) count += partition.edge_features(e).size();
  auto features = out.initFeatures(static_cast<kj::uint>(count));
  kj::uint i = 0;
  for (NodeTypeId t = 0; t < schema.num_ntypes(); t++) {
    for (const FeatureInfo& info : partition.node_features(t)) {
      WriteFeature(false, t, info, partition.node_feature(t, info.name), features[i++]);
    }
  }
  for (EdgeTypeId e = 0; e < schema.num_etypes(); e++) {
    for (const FeatureInfo& info : partition.edge_features(e)) {
      WriteFeature(true, e, info, partition.edge_feature(e, info.name), features[i++]);
    }
  }
}

}  // namespace

DaemonService::DaemonService(ServiceContext& context, const DaemonInfo& info, Peer peer,
                             WorkerScratch& scratch, kj::Timer& timer, LoopTurns& turns,
                             std::function<bool()> stays)
    : context_(context),
      info_(info),
      peer_(std::move(peer)),
      scratch_(scratch),
      timer_(timer),
      turns_(turns),
      stays_(std::move(stays)) {}

// Describes the owners of large mapped books. The owners themselves are not in the message.
void DaemonService::WriteOwners(const ServedGraph& graph, bool want_segments,
                                wire::Graph::Builder out) {
  for (const bool is_edge : {false, true}) {
    const ServedGraph::Owners& owners = graph.owners(is_edge);
    if (owners.segment == nullptr) continue;
    auto map = is_edge ? out.getEdges() : out.getNodes();
    map.setChecksum(owners.checksum);
    if (!want_segments) continue;
    map.setHandle(kj::heap<SegmentHandleImpl>(owners.segment, owners.segment->fd()));
  }
}

void DaemonService::WritePartitions(const ServedGraph& graph, bool want_segments,
                                    wire::Daemon::AttachResults::Builder results) {
  const auto& partitions = graph.partitions();
  auto out = results.initPartitions(static_cast<kj::uint>(partitions.size()));
  for (kj::uint p = 0; p < out.size(); p++) {
    out[p].setPart(partitions[p]->id());
    out[p].setDataId(graph.data_id());
    WriteFeatures(*partitions[p], out[p]);
    if (!want_segments) continue;
    const auto& segments = partitions[p]->segments();
    auto infos = out[p].initSegments(static_cast<kj::uint>(segments.size()));
    for (kj::uint s = 0; s < infos.size(); s++) {
      WriteLayout(segments[s]->layout(), infos[s]);
      infos[s].setHandle(kj::heap<SegmentHandleImpl>(segments[s], segments[s]->fd()));
    }
  }
}

void DaemonService::CheckDescriptors(const ServedGraph& graph) {
  size_t segments = 0;
  for (const bool is_edge : {false, true}) {
    if (graph.owners(is_edge).segment != nullptr) segments++;
  }
  for (const auto& partition : graph.partitions()) segments += partition->segments().size();
  if (segments > kMaxDescriptors) {
    Throw(ErrorCode::kOverloaded, "this graphd's partitions have ", segments, " segments, at most ",
          kMaxDescriptors, " can be shared with a trainer; serve fewer partitions by one daemon");
  }
}

bool DaemonService::is_idle() const {
  if (attached_) return false;
  return SecondsSince(*last_call_) > (called_ ? info_.max_idle_seconds : kFirstCallSeconds);
}

bool DaemonService::has_lost_access() const {
  return attached_ && context_.access.RoleOf(peer_) < Role::kReader;
}

void DaemonService::NoteCall() {
  called_ = true;
  *last_call_ = Clock::now();
}

void DaemonService::Stay() {
  if (connection_ == nullptr || !stays_()) {
    Throw(ErrorCode::kUnavailable, "this graphd closes the connection to make room for others; ",
          "try again, or have --max_connections raised");
  }
}

void DaemonService::Disconnect() {
  connection_ = nullptr;
  if (const auto requests = requests_.lock()) requests->Disconnect();
}

void DaemonService::LogRefused(capnp::Text::Reader job, const Error& error) const {
  LogFields fields{.peer = peer_.LogName(), .op = "attach"};
  // A longer text can't be the id of a job.
  if (job.size() <= kMaxJobId) fields.job.assign(job.begin(), job.size());
  LogInfo(fields, "refusing the client ", fields.peer, ": ", error.what());
}

kj::Promise<void> DaemonService::attach(AttachContext context) {
  NoteCall();
  try {
    auto params = context.getParams();
    CheckHello(params.getHello(), "the client at " + peer_.text);
    const std::string name = BoundedText(params.getServerName(), kMaxServerName, "a server's name");
    if (!name.empty() && name != info_.server_name) {
      Throw(ErrorCode::kNotFound, "this graphd serves under the name '", info_.server_name,
            "', not '", name, "'; check --server_name and the ports in ip_config");
    }
    context_.access.Require(peer_, Role::kReader, "read this graph");
    if (params.getWantSegments() && !peer_.is_unix) {
      Throw(ErrorCode::kDenied, "memory is shared over the Unix socket only");
    }
    if (attached_) Throw(ErrorCode::kExists, "this connection is attached already; open another");
    Stay();  // a member whose connection gives way would fail its job
    auto membership = context_.jobs.Join(ReadMember(params.getMember()), peer_, ended_.fulfill);
    std::optional<std::string> wanted;
    if (params.hasWantVersion()) {
      wanted =
          BoundedText(params.getWantVersion(), GraphVersion::kMaxId, "the id of a graph's version");
    }
    // Launchers read nothing of the graph, and attach to each daemon separately. They therefore
    // don't decide which version the job has.
    VersionPtr version = membership->role() == JobRole::kLauncher
                             ? context_.graphs.Of(membership->job_id())
                             : context_.graphs.Use(membership->job_id(), wanted);
    const ServedGraph& served = *version->graph;
    if (params.getWantSegments()) CheckDescriptors(served);
    auto results = context.getResults();
    WriteHello(results.initHello());
    auto graph = results.initGraph();
    WriteGraph(served.meta(), graph);
    WriteOwners(served, params.getWantSegments(), graph);
    WritePartitions(served, params.getWantSegments(), results);
    results.setVersion(version->id);
    results.setFingerprint(version->fingerprint);
    connection_->Admit(context_.memory.OfMember(membership->job_id(), peer_.text));
    const JobShare share(membership->job_number(), context_.access.WeightOf(peer_));
    connection_->stream().TakeTurns(turns_, share);
    auto requests = std::make_shared<RequestContext>(
        context_.pools, context_.counters, connection_->stream(), scratch_, timer_, context_.access,
        peer_, context_.in_flight.Add(*membership, peer_), share, membership->counters());
    requests_ = requests;
    results.setSession(kj::heap<GraphSession>(context_, std::move(requests), std::move(membership),
                                              std::move(version)));
    attached_ = true;
    return kj::READY_NOW;
  } catch (const Error& error) {
    LogRefused(context.getParams().getMember().getJobId(), error);
    return ToKj(error);
  }
}

kj::Promise<void> DaemonService::status(StatusContext context) {
  NoteCall();
  try {
    CheckHello(context.getParams().getHello(), "the client at " + peer_.text);
    context_.access.Require(peer_, Role::kReader, "see this server's status");
    if (statuses_ >= kMaxStatuses) {
      Throw(ErrorCode::kOverloaded, "this client has asked for the status ", statuses_,
            " times already; wait for answers");
    }
    statuses_++;
    auto told = kj::defer([this, self = thisCap()] { statuses_--; });
    return TellStatus(context).attach(kj::mv(told));
  } catch (const Error& error) {
    return ToKj(error);
  }
}

kj::Promise<void> DaemonService::TellStatus(StatusContext context) {
  auto found = std::make_shared<StatusCache::StatusPtr>();
  const auto look = [found, asked = Clock::now(), &context = context_, &info = info_] {
    *found = context.statuses->MadeAfter(asked, [&] { return StatusOf(context, info); });
  };
  return kj::evalNow([&] {
           return AsKj([&] {
             return context_.pools.status.Run(JobShare(), 1,
                                              [look](size_t, WorkerScratch&) { look(); });
           });
         })
      .catch_([this, look](kj::Exception&& failure) {
        // While the daemon stops, its pools may have ended already. It still tells its status, so
        // that operators see the progress of its last work.
        if (!context_.jobs.is_closed()) kj::throwFatalException(kj::mv(failure));
        look();
      })
      .then(
          [found, context]() mutable { WriteStatus(**found, context.getResults().initStatus()); });
}

DaemonService::Ending DaemonService::NewEnding() {
  auto pair = kj::newPromiseAndCrossThreadFulfiller<void>();
  // The fulfiller is behind a pointer, because its destructor may throw.
  auto fulfiller = std::make_shared<decltype(pair.fulfiller)>(kj::mv(pair.fulfiller));
  return {kj::mv(pair.promise), [fulfiller] { (*fulfiller)->fulfill(); }};
}

kj::Promise<void> DaemonService::control(ControlContext context) {
  NoteCall();
  try {
    CheckHello(context.getParams().getHello(), "the client at " + peer_.text);
    if (!peer_.is_unix) {
      Throw(ErrorCode::kDenied, "a graphd is controlled over its Unix socket only; run graphctl ",
            "on its machine");
    }
    context_.access.Require(peer_, Role::kOperator, "control this server");
    Stay();
    OperatorCalls calls(context_.access, peer_, [last = last_call_] { *last = Clock::now(); });
    context.getResults().setControl(kj::heap<ControlService>(context_, info_, std::move(calls)));
    return kj::READY_NOW;
  } catch (const Error& error) {
    return ToKj(error);
  }
}

kj::Promise<void> DaemonService::ping(PingContext) {
  NoteCall();
  return kj::READY_NOW;
}

kj::Promise<void> DaemonService::shutdown(ShutdownContext context) {
  try {
    if (!peer_.is_unix) {
      Throw(ErrorCode::kDenied, "a graphd is stopped over its Unix socket only; run graphctl on ",
            "its machine");
    }
    context_.access.Require(peer_, Role::kOperator, "stop this server");
    const std::vector<JobStatus> jobs = context_.jobs.Jobs();
    if (!jobs.empty() && !context.getParams().getForce()) {
      Throw(ErrorCode::kExists, jobs.size(), jobs.size() == 1 ? " job is" : " jobs are",
            " attached (", jobs.front().job_id,
            jobs.size() == 1 ? ")" : StrCat(" and ", jobs.size() - 1, " more)"),
            "; wait until they have ended, end them with `graphctl stop JOB`, or use --force");
    }
    const double timeout = context.getParams().getTimeoutSeconds();
    LogInfo({.peer = peer_.LogName(), .op = "shutdown"}, "asked to stop by pid ", peer_.pid,
            timeout < 0 ? std::string() : StrCat(" within ", timeout, " s"));
    info_.request_stop(timeout);
    return kj::READY_NOW;
  } catch (const Error& error) {
    return ToKj(error);
  }
}

kj::Promise<void> DaemonService::report(ReportContext context) {
  NoteCall();
  try {
    const auto params = context.getParams();
    CheckHello(params.getHello(), "the client at " + peer_.text);
    context_.access.Require(peer_, Role::kReader, "run a job here");
    JobRecord record = ReadRecord(params.getRecord());
    const std::string secret =
        BoundedText(params.getSecret(), JobRegistry::kMaxSecret, "the job's secret");
    context_.jobs.CheckReport(record.job_id, secret, peer_);
    Stay();
    const std::vector<JobHost> known = context_.board.Report(std::move(record), secret, peer_);
    auto hosts = context.getResults().initHosts(static_cast<kj::uint>(known.size()));
    for (kj::uint i = 0; i < hosts.size(); i++) WriteHost(known[i], hosts[i]);
    return kj::READY_NOW;
  } catch (const Error& error) {
    return ToKj(error);
  }
}

}  // namespace graphd
