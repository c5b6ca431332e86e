# SPDX-License-Identifier: Apache-2.0
# The protocol between graphd and its clients. Arrays are sent as Data (little-endian, packed), so
# that they need not be copied to or from pooled buffers. Ids are type-wise (see
# graphd/partition_book.h). Each takes 4 bytes if the type has fewer than 2^32 objects, and
# otherwise 8.
#
# Compatibility: `protocol` is raised when a message changes its meaning. If the numbers of both
# sides differ, attach fails with an error that names both. A new optional feature gets a bit in
# `features`, unless a new field is enough: in messages of an older version, new fields have their
# defaults, which stand for the older behaviour. For example, a client asks for encoded rows
# (`takesEncoded`) only if `attach` has told it an encoding, and the answer tells whether the daemon
# has sent encoded rows.
@0xb5c1f0d3a9e84c27;
using Cxx = import "/capnp/c++.capnp";
$Cxx.namespace("graphd::wire");
using import "control.capnp".Control;
using import "control.capnp".Drained;

const protocolVersion :UInt32 = 5;

struct Hello {
  protocol @0 :UInt32;
  version @1 :Text;       # version of the software, for error messages
  features @2 :UInt64;
}

enum Role {
  trainer @0;
  launcher @1;
  bulk @2;        # a trainer's second connection, for rows; not counted in barriers
}

struct Member {
  jobId @0 :Text;
  role @1 :Role;
  rank @2 :Int32;
  worldSize @3 :Int32;
  command @4 :Text;
  pid @5 :Int64;          # filled in by the daemon from SO_PEERCRED; 0 over TCP
  peer @6 :Text;          # filled in by the daemon
  secret @7 :Text;        # the job's secret; never part of a status
  attempt @8 :UInt32;     # number of times that the job's trainers were started again before
}

struct IdMap {
  ranges @0 :List(Int64);  # [type][part] {begin, end}, flattened; empty for a mapped book
  owners @1 :Data;         # owner of each id (int32); only for a small mapped book
  # The owners of a larger mapped book are in the memory of `handle`, if wantSegments was set, and
  # can otherwise be read by Session.owners. `checksum` is the XXH3 of the owners.
  size @2 :Int64;          # number of ids; 0: the map is in this message
  checksum @3 :UInt64;
  handle @4 :SegmentHandle;
}

struct EdgeType { src @0 :Text; rel @1 :Text; dst @2 :Text; }

struct Graph {
  name @0 :Text;
  ntypes @1 :List(Text);
  etypes @2 :List(EdgeType);
  numParts @3 :Int32;
  nodes @4 :IdMap;
  edges @5 :IdMap;
  partMethod @6 :Text;
  haloHops @7 :Int32;
}

struct Feature {
  isEdge @0 :Bool;
  type @1 :Int32;
  name @2 :Text;
  dtype @3 :UInt8;         # graphd::DType that readers get
  rowShape @4 :List(Int64);
  encoding @5 :Encoding;   # null: rows are stored and sent as readers get them
}

# The form in which a feature is stored, and in which its rows can be sent. Mirrors
# graphd::Encoding. The dtype of the decoded rows is that of the feature.
struct Encoding {
  stored @0 :UInt8;        # graphd::DType
  scale @1 :Float32 = 1;
}

# Mirrors graphd::ArraySpec.
struct ArraySpec {
  name @0 :Text;
  dtype @1 :UInt8;         # dtype of the stored elements
  shape @2 :List(Int64);
  offset @3 :UInt64;
  bytes @4 :UInt64;
  readAs @5 :UInt8;        # dtype that readers get
  scale @6 :Float32;       # the scale of graphd::Encoding
}

interface SegmentHandle {}  # carries a memfd; has no methods

struct SegmentInfo {
  arrays @0 :List(ArraySpec);
  totalBytes @1 :UInt64;
  handle @2 :SegmentHandle;
}

struct PartitionInfo {
  part @0 :Int32;
  features @1 :List(Feature);
  segments @2 :List(SegmentInfo);  # only if wantSegments was set
  dataId @3 :UInt64;       # changes when the daemon's files change; 0: unknown
}

struct Initializer {
  kind @0 :UInt8;          # graphd::InitKind
  a @1 :Float64;
  b @2 :Float64;
  seed @3 :UInt64;
}

# Mirrors graphd::TensorSpec.
struct TensorSpec {
  name @0 :Text;
  persistent @1 :Bool;
  policy @2 :UInt8;        # graphd::TensorPolicy
  type @3 :Int32;          # a node or an edge type, depending on `policy`
  rows @4 :Int64;          # rows of all partitions
  dtype @5 :UInt8;
  rowShape @6 :List(Int64);
  initializer @7 :Initializer;
  writers @8 :UInt8;       # graphd::TensorWriters
}

# A TensorInfo describes a share: the part of a distributed tensor that belongs to one partition.
struct TensorInfo {
  table @0 :UInt32;        # the tensor's number on this daemon; the same after a restart
  part @1 :Int32;
  spec @2 :TensorSpec;
  state @3 :UInt8;         # graphd::OptimizerState
  jobId @4 :Text;          # the job that owns it; empty if it is persistent
  holder @5 :Text;         # the job that may write; empty: no job or every job may
  residentBytes @6 :UInt64;
  storedRows @7 :Int64;    # rows of this partition that are stored
  trouble @8 :Text;        # the reason why it can't be read or written in full; empty if it can
  preparingBytes @9 :UInt64;  # residentBytes once its memory is prepared; 0: nobody prepares it
}

struct StoreStatus {
  directory @0 :Text;
  durability @1 :Text;
  memoryBytes @2 :UInt64;  # limit of residentBytes; 0: unlimited
  residentBytes @3 :UInt64;
  pageBytes @4 :UInt64;    # on disk
  logBytes @5 :UInt64;
  pushes @6 :UInt64;       # since the store was created
  trouble @7 :Text;        # the reason why pushes wait or fail, or pages can't be written
  damage @8 :List(Text);   # damage found when the daemon started
  memory @9 :Text;         # directory of the PersistentArena; empty if there is none
  changedBytes @10 :UInt64;  # found changed in the present or last cycle of write-back
  writtenBytes @11 :UInt64;  # the part of changedBytes that it has written
}

struct Status {
  version @0 :Text;
  protocol @1 :UInt32;
  serverName @2 :Text;
  graphName @3 :Text;
  partConfig @4 :Text;
  state @5 :Text;
  pid @6 :Int64;
  uptimeSeconds @7 :Float64;
  listening @8 :List(Text);
  insecure @9 :Bool;
  endsWithJobs @10 :Bool;
  numParts @11 :Int32;
  partitions @12 :List(PartitionStatus);
  jobs @13 :List(JobStatus);
  requests @14 :UInt64;
  rowsServed @15 :UInt64;
  edgesSampled @16 :UInt64;
  bytesSent @17 :UInt64;
  rssBytes @18 :UInt64;
  tensors @19 :List(TensorInfo);
  store @20 :StoreStatus;  # null until there is a tensor
  records @21 :List(JobRecord);
  drained @22 :Drained;    # null while new jobs are taken
  graphs @23 :List(GraphVersion);  # the current version of the graph, and those that jobs still use
  rowsCached @24 :UInt64;  # rows that clients have found in their caches
  rowsNotCached @25 :UInt64;  # rows that they have not found there
  operations @26 :List(OperationTimes);
  mappedReads @27 :MappedReads;  # by all clients, as far as they have reported

  struct PartitionStatus {
    part @0 :Int32;
    numNodes @1 :Int64;
    numEdges @2 :Int64;
    bytes @3 :UInt64;
    pages @4 :Text;        # the most common kind
    indexBytes @5 :UInt64;  # derived arrays, not included in `bytes`
    pageBytes @6 :List(PageBytes);  # `bytes` by kinds of pages, the most common one first
  }
  # Mirrors graphd::PageBytes.
  struct PageBytes {
    pages @0 :Text;
    bytes @1 :UInt64;
  }
  struct JobStatus {
    jobId @0 :Text;
    command @1 :Text;
    worldSize @2 :Int32;
    seconds @3 :Float64;
    members @4 :List(Member);
    fingerprint @5 :Text;  # the version of the graph that it uses
    mappedReads @6 :MappedReads;  # by its members, as far as they have reported
    requests @7 :UInt64;   # those of the job that have arrived since it attached
    rowsServed @8 :UInt64;
    edgesSampled @9 :UInt64;
    bytesSent @10 :UInt64;
    memoryBytes @11 :UInt64;  # for its requests and answers, in use
    owner @12 :Text;       # the user who has begun it, as "uid 1000" or "certificate NAME"; may be empty
  }
  struct GraphVersion {
    id @0 :Text;           # the same at all daemons; empty: no switch led to it
    partConfig @1 :Text;
    fingerprint @2 :Text;  # identifies the files that this daemon has read
    bytes @3 :UInt64;      # its partitions and derived arrays
    jobs @4 :UInt32;       # the number of jobs that use it
  }
  # The times of all requests of one kind that have ended since the daemon was started.
  struct OperationTimes {
    operation @0 :Text;    # such as "sample"; the metrics' label `kind`
    durations @1 :Times;   # the time from their arrival until they were answered or cancelled
    queued @2 :Times;      # the part of this time in which they waited for a thread or for their turn
  }
}

# Counts of what clients have read directly in memory of the daemon that they have mapped, without
# requests. Mirrors graphd::MappedReads.
struct MappedReads {
  calls @0 :UInt64;        # the requests that the reads have replaced: at least one for each read
  rows @1 :UInt64;         # rows of features and tensors
  bytes @2 :UInt64;        # the size of these rows, as readers get them
  edges @3 :UInt64;        # edges that were sampled
}

# A distribution of times. Mirrors graphd::TimeBuckets.
struct Times {
  seconds @0 :Float64;     # the sum
  buckets @1 :List(Bucket);  # all buckets that are not empty, by ascending bound

  struct Bucket {
    nanoseconds @0 :UInt64;  # the bound: the longest time in the bucket
    count @1 :UInt64;
  }
}

# A report of a supervisor (graphctl's process on a host of a job) about its host's part of the job.
# Mirrors graphd::JobHost.
struct JobHost {
  host @0 :UInt32;        # the host's place among those of the job
  sequence @1 :UInt64;    # a report replaces one of its host with a smaller number
  name @2 :Text;
  phase @3 :UInt8;        # graphd::JobPhase
  attempt @4 :UInt32;     # number of times that its trainers were started again
  port @5 :UInt16;        # a free port of rank 0's host, for MASTER_PORT; 0: unknown
  code @6 :Int32;         # the exit code, if the part has failed or ended
  endedAt @7 :Float64;    # when it failed or ended, in seconds since 1970; 0: it has not
  reason @8 :Text;
  grace @9 :Float64;      # seconds within which trainers must end
  # The plan for this attempt. Only the reports of the job's first host have one.
  trainers @10 :List(UInt32);   # the number of trainers in each slot; empty: as launched
  away @11 :List(UInt32);       # hosts that take no part
  uncounted @12 :UInt32;  # attempts so far that do not count as restarts after a failure
}

# The record of a job that runs without its launcher. It is kept after the job's end, too.
struct JobRecord {
  jobId @0 :Text;
  command @1 :Text;
  numHosts @2 :UInt32;
  maxRestarts @3 :UInt32;
  silentSeconds @4 :Float64;  # since the last report
  hosts @5 :List(JobHost);
}

# The bootstrap interface of every connection.
interface Daemon {
  # Compares the protocols and joins a job. `wantSegments` asks for the memfds of all segments,
  # which are passed over the Unix socket only. `wantVersion` is the version of the graph that the
  # job uses at another daemon, or has used here before. If it is null, the client gets the job's
  # version or, for a new job, the current one. The answer has the id of the version, and the
  # fingerprint of the files that this daemon has read for it.
  attach @0 (hello :Hello, serverName :Text, member :Member, wantSegments :Bool, wantVersion :Text)
      -> (hello :Hello, graph :Graph, partitions :List(PartitionInfo), session :Session,
          version :Text, fingerprint :Text);
  status @1 (hello :Hello) -> (status :Status);
  # Stops the daemon. It ends within `timeoutSeconds`, even if changed rows are not written back.
  # Negative: no limit.
  shutdown @2 (force :Bool, timeoutSeconds :Float64 = -1) -> ();
  # Stores the reports of a job's supervisors about their hosts, and returns all reports about the
  # job. The first report of a job decides the job's secret; later reports need the same secret.
  report @3 (hello :Hello, record :JobRecord, secret :Text) -> (hosts :List(JobHost));
  # Returns the interface by which operators control the daemon. Only over the Unix socket.
  control @4 (hello :Hello) -> (control :Control);
  # Does nothing. The answer, which comes at once, proves that the daemon is alive. So does the
  # error of an older daemon, which does not know this call.
  ping @5 () -> ();
}

# A Seeds list has seed nodes of one type. A hop has one list or several.
struct Seeds {
  ntype @0 :Int32;
  ids @1 :Data;
  streams @2 :Data;   # number of each id's random stream (uint32); empty: the ids themselves
  times @3 :Data;     # time of each id: int64 or float64, like the temporal rules' column
}

# A rule that is applied to one of the hop's lists of seeds. Mirrors graphd::SamplingRule.
struct SamplingRule {
  seeds @0 :UInt16;   # index into the hop's seeds
  etype @1 :Int32;
  outward @2 :Bool;
  method @3 :UInt8;   # graphd::SamplingMethod
  fanout @4 :Int32;
  replace @5 :Bool;
  column @6 :Text;
  largest @7 :Bool;
  inclusive @8 :Bool;
  key @9 :UInt64;     # graphd::SampleKey
  edgeIds @10 :Bool;
  exclude @11 :Data;  # type-wise ids of this partition's edges, ascending
}

struct Sampled {
  counts @0 :Data;      # number of edges of each seed, in countBytes bytes
  countBytes @1 :UInt8;
  neighbors @2 :Data;   # type-wise ids of the neighbours
  edges @3 :Data;       # type-wise edge ids, if the rule has edgeIds
  arrivalKeys @4 :Data; # outward rules: uint64 per edge, to merge the answers of partitions
}

# A request for a node feature of seeds: of those in one list of the hop, from index `begin` on.
struct SeedRows {
  seeds @0 :UInt16;
  name @1 :Text;
  begin @2 :UInt32;
}

# Mirrors graphd::EdgeIndexSpec.
struct EdgeIndex {
  kind @0 :UInt8;
  outward @1 :Bool;
  etype @2 :Int32;
  column @3 :Text;
}

# The operations of an attached client. When the client drops the capability, it leaves the job.
# "Own" nodes and edges are those that the partition owns; requests for others are refused.
interface Session {
  # Samples one hop: applies every rule to its seeds (own nodes, unless the rule is outward), and
  # also returns features of own seeds. `cached` and `notCached` are the numbers of rows of this
  # daemon that the client has found, and not found, in its cache since its last message.
  # `takesEncoded`: the client can decode rows that are sent as they are stored (Feature.encoding).
  # `encoded`: the rows of this answer are sent as they are stored.
  hop @0 (part :Int32, seeds :List(Seeds), rules :List(SamplingRule), rows :List(SeedRows),
          cached :UInt64, notCached :UInt64, takesEncoded :Bool)
      -> (samples :List(Sampled), rows :List(Data), encoded :Bool);

  # Returns rows of a feature by type-wise id, in the order of `ids`.
  gather @1 (part :Int32, isEdge :Bool, type :Int32, name :Text, ids :Data, cached :UInt64,
             notCached :UInt64, takesEncoded :Bool) -> (rows :Data, encoded :Bool);

  # Returns `count` rows from local row `begin` on.
  slice @2 (part :Int32, isEdge :Bool, type :Int32, name :Text, begin :Int64, count :Int64,
            takesEncoded :Bool) -> (rows :Data, encoded :Bool);

  # Returns when every trainer of the job has called it. Fails after `timeout` milliseconds (0:
  # never). A call that has failed does not count for the other trainers. Trainers call it at the
  # daemon of partition 0.
  # A trainer that has lost the answer calls again, and must then not wait for the next barrier. It
  # uses the same `entry`, which is unique and not 0, and so the daemon knows that the trainer has
  # passed. `passed` is the `number` of the last barrier that the trainer has passed, 0 if it knows
  # none: after a restart of the daemon, it shows which trainers have lost an answer.
  barrier @3 (timeout :UInt32, entry :UInt64, passed :UInt64) -> (number :UInt64);

  # Returns the sources and destinations of own edges, in the order of `ids`.
  findEdges @4 (part :Int32, etype :Int32, ids :Data) -> (src :Data, dst :Data);

  # Returns a byte for each pair, which tells whether there is an edge src[i] -> dst[i]. The
  # destinations must be own nodes.
  hasEdges @5 (part :Int32, etype :Int32, src :Data, dst :Data) -> (found :Data);

  # Counts the edges of this partition that end in own nodes or, if `outward`, begin in any nodes.
  # `counts` has a uint32 for each id.
  degrees @6 (part :Int32, etype :Int32, outward :Bool, ids :Data) -> (counts :Data);

  # Selects the in-edges of own `seeds` whose source is in `members` (ascending, distinct). Returns
  # a count for each seed and, for each edge, its id and the index of its source in `members`.
  induced @7 (part :Int32, etype :Int32, seeds :Data, members :Data)
      -> (counts :Data, indices :Data, edges :Data);

  # Returns a derived array of the partition, and builds it on first use. Only over the Unix socket.
  edgeIndex @8 (part :Int32, index :EdgeIndex) -> (segment :SegmentInfo);

  # Creates or opens this partition's share of a distributed tensor. Without `create`, the spec has
  # only the name and `persistent`. If `fill` is true, the caller must write the initial values, and
  # then call `filled` to report that it has done so or gives up. Until then, other callers get
  # `filling`.
  openTensor @9 (part :Int32, spec :TensorSpec, create :Bool, callerFills :Bool)
      -> (info :TensorInfo, fill :Bool, filling :Bool);
  filled @10 (table :UInt32, givenUp :Bool) -> ();

  # Returns the memory of the share. The client reads it under the sequence locks of its pages. Only
  # over the Unix socket.
  mapTensor @11 (table :UInt32) -> (handle :SegmentHandle);

  # Returns rows by type-wise id, in the order of `ids`. No row is a mix of its states before and
  # after a change.
  readRows @12 (table :UInt32, ids :Data) -> (rows :Data);

  # Changes rows. Returns when the change is visible and as durable as the daemon's configuration
  # demands. If `sequence` is not above that of the client's last push, the push was applied before
  # and is not applied again. Any error other than "unavailable" means that nothing was applied.
  push @13 (table :UInt32, rule :UpdateRule, client :ClientId, sequence :UInt64, ids :Data,
            payload :Data, shared :SharedPayload) -> ();

  # Sends one trainer's part of a step. When the parts of all trainers have arrived, they are
  # applied as one push, ordered by rank. The call then returns as `push` does. Steps count from 1;
  # for a step that was applied before, the call returns at once.
  stage @14 (table :UInt32, rule :UpdateRule, step :UInt64, ids :Data, payload :Data,
             shared :SharedPayload) -> ();
  # Returns the last step that was applied; 0 if there is none.
  lastStep @15 (table :UInt32) -> (step :UInt64);

  # Takes (`hold`) or releases the job's right to write. Returns whether that has changed anything.
  # Fails while another job has the right.
  lease @16 (table :UInt32, hold :Bool) -> (changed :Bool);

  # Adds the state of the optimiser, which is zero at first, to each row. Fails if the tensor has
  # the state of another optimiser.
  prepareState @17 (table :UInt32, state :UInt8) -> ();

  # Lists the tensors that this job can see.
  listTensors @18 () -> (tensors :List(TensorInfo));
  # Deletes the tensor and its rows for good.
  dropTensor @19 (table :UInt32) -> ();

  checkpoints @20 () -> (service :Checkpoints);

  # Returns memory for payloads, which then need not be sent in messages. Each session has one such
  # memory. Only over the Unix socket.
  pushMemory @21 () -> (handle :SegmentHandle, id :UInt64);

  # Returns the owners (int32) of the ids [begin, begin + count) of a mapped book, at most 2^20.
  owners @22 (isEdge :Bool, begin :Int64, count :Int64) -> (owners :Data);

  # Tells what the client has read in mapped memory since its last message of this kind. Clients
  # send such a message once a second at most, and a last one when they leave. It does not count as
  # a request. Fails over TCP, and if it tells of more than 2^40 calls, rows or edges, or 2^50
  # bytes.
  countReads @23 (reads :MappedReads) -> ();
}

# The place of a payload that is in the session's pushMemory, not in the message. The client must
# not change the payload until the call has returned.
struct SharedPayload {
  memory @0 :UInt64;  # id of the pushMemory; 0: the payload is in the message
  offset @1 :UInt64;  # a multiple of 64
  bytes @2 :UInt64;
}

# Mirrors graphd::UpdateRule.
struct UpdateRule {
  kind @0 :UInt8;
  meanOfDuplicates @1 :Bool;
  lr @2 :Float32;
  eps @3 :Float32;
  beta1 @4 :Float32;
  beta2 @5 :Float32;
  weightDecay @6 :Float32;
}

struct ClientId {
  high @0 :UInt64;
  low @1 :UInt64;
}

struct CheckpointInfo {
  name @0 :Text;
  parts @1 :List(Int32);   # parts stored by this daemon
  manifest @2 :Text;       # JSON; stored by the daemon that served partition 0
  bytes @3 :UInt64;        # on this machine's disk
  id @4 :Text;             # identifies the attempt that wrote the parts
  trouble @5 :Text;        # the first damage found, if any; other fields are then incomplete
}

# The checkpoints of one daemon. To create a checkpoint, a client first calls prepare at all
# daemons, then hold at all, then take at all, and then commit at all, at the daemon that gets the
# manifest last.
interface Checkpoints {
  # Writes changed pages back while pushes go on. Without names, the checkpoint has all persistent
  # tensors. `id` distinguishes the parts of this attempt from those of another attempt of the same
  # name.
  prepare @0 (name :Text, tensors :List(Text), id :Text) -> (making :Making);
  # Returns the checkpoints whose names come after `after`, sorted by name. `more`: there are others
  # after the last one, which did not fit into the answer.
  list @1 (after :Text) -> (checkpoints :List(CheckpointInfo), more :Bool);
  # Returns the rows [begin, begin + count) of one partition's share, or fewer if the share ends
  # before, and the optimiser's state of each row.
  readRows @2 (name :Text, part :Int32, tensor :Text, begin :Int64, count :Int64)
      -> (rows :Data, states :Data);
  readFile @3 (name :Text, file :Text, offset :UInt64, count :UInt64) -> (data :Data);
  delete @4 (name :Text) -> ();
  # Returns the original id (the feature `orig_id`, int64) of the node or edge of each row of a
  # tensor; empty if the graph has no original ids.
  originalIds @5 (name :Text, part :Int32, tensor :Text, begin :Int64, count :Int64)
      -> (ids :Data);
  # Must be called with `on` before rows are loaded into a tensor, and without it after the last
  # one. Between the two calls, nobody can read or write the tensor's rows.
  loading @6 (table :UInt32, on :Bool) -> ();
}

# A checkpoint that is being created. If the client drops the capability before commit, the
# checkpoint is deleted.
interface Making {
  hold @0 () -> ();        # makes pushes wait
  take @1 () -> (tensors :List(TensorInfo), bytes :UInt64);  # writes the tensors; pushes then go on
  addFile @2 (file :Text, offset :UInt64, data :Data) -> ();
  commit @3 (manifest :Text) -> ();
}
