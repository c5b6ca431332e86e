# SPDX-License-Identifier: Apache-2.0
# The protocol between graphd and its clients. Arrays travel as Data (little-endian, packed), so that
# they are sent from and received into pooled buffers without a copy. Ids are type-wise (see
# graphd/partition_book.h), in 4 bytes while the type has fewer than 2^32 objects, else in 8.
#
# Compatibility: `protocol` is raised when a message changes its meaning, and a mismatch ends the
# attach with both numbers in the error. New optional abilities get a bit in `features`.
@0xb5c1f0d3a9e84c27;
using Cxx = import "/capnp/c++.capnp";
$Cxx.namespace("graphd::wire");

const protocolVersion :UInt32 = 3;

struct Hello {
  protocol @0 :UInt32;
  version @1 :Text;       # of the software, for messages
  features @2 :UInt64;
}

enum Role {
  trainer @0;
  launcher @1;
  bulk @2;        # a trainer's second connection, for rows: counts in no barrier
}

struct Member {
  jobId @0 :Text;
  role @1 :Role;
  rank @2 :Int32;
  worldSize @3 :Int32;
  command @4 :Text;
  pid @5 :Int64;          # filled in by the daemon from SO_PEERCRED; 0 over TCP
  peer @6 :Text;          # filled in by the daemon
}

struct IdMap {
  ranges @0 :List(Int64);  # [type][part] {begin, end}, flattened; empty for a mapped book
  owners @1 :Data;         # int32 per id; mapped books
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
  dtype @3 :UInt8;         # graphd::DType
  rowShape @4 :List(Int64);
}

struct ArraySpec {
  name @0 :Text;
  dtype @1 :UInt8;
  shape @2 :List(Int64);
  offset @3 :UInt64;
  bytes @4 :UInt64;
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
  segments @2 :List(SegmentInfo);  # over the Unix socket, when asked for
}

struct Initializer {
  kind @0 :UInt8;          # graphd::InitKind
  a @1 :Float64;
  b @2 :Float64;
  seed @3 :UInt64;
}

# graphd::TensorSpec
struct TensorSpec {
  name @0 :Text;
  persistent @1 :Bool;
  policy @2 :UInt8;        # graphd::TensorPolicy
  type @3 :Int32;          # node or edge type, by policy
  rows @4 :Int64;          # of all partitions
  dtype @5 :UInt8;
  rowShape @6 :List(Int64);
  initializer @7 :Initializer;
  writers @8 :UInt8;       # graphd::TensorWriters
}

# One partition's share of a distributed tensor.
struct TensorInfo {
  table @0 :UInt32;        # names it on this daemon, also after a restart
  part @1 :Int32;
  spec @2 :TensorSpec;
  state @3 :UInt8;         # graphd::OptimizerState
  jobId @4 :Text;          # whose it is, unless it is persistent
  holder @5 :Text;         # the job that may write it; empty: none, or every one may
  residentBytes @6 :UInt64;
  storedRows @7 :Int64;    # of this partition
  trouble @8 :Text;        # why it can't be read or written in full
}

struct StoreStatus {
  directory @0 :Text;
  durability @1 :Text;
  memoryBytes @2 :UInt64;  # the limit of residentBytes; 0: none
  residentBytes @3 :UInt64;
  pageBytes @4 :UInt64;    # on disk
  logBytes @5 :UInt64;
  pushes @6 :UInt64;       # since the store was made
  trouble @7 :Text;        # why pushes wait or fail, or pages can't be written
  damage @8 :List(Text);   # what was found damaged when the daemon started
  memory @9 :Text;         # the directory of memory that outlasts the daemon; empty: it does not
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

  struct PartitionStatus {
    part @0 :Int32;
    numNodes @1 :Int64;
    numEdges @2 :Int64;
    bytes @3 :UInt64;
    pages @4 :Text;
    indexBytes @5 :UInt64;  # derived arrays, beside `bytes`
  }
  struct JobStatus {
    jobId @0 :Text;
    command @1 :Text;
    worldSize @2 :Int32;
    seconds @3 :Float64;
    members @4 :List(Member);
  }
}

# The bootstrap interface of every connection.
interface Daemon {
  # Agrees on the protocol and joins a job. `wantSegments`: over the Unix socket, pass the memfds.
  attach @0 (hello :Hello, serverName :Text, member :Member, wantSegments :Bool)
      -> (hello :Hello, graph :Graph, partitions :List(PartitionInfo), session :Session);
  status @1 (hello :Hello) -> (status :Status);
  shutdown @2 (force :Bool) -> ();
}

# Nodes of one type, as a hop asks for them.
struct Seeds {
  ntype @0 :Int32;
  ids @1 :Data;
  streams @2 :Data;   # uint32 per id: random stream; empty: the ids
  times @3 :Data;     # 8 bytes per id, int64 or float64 as the column of the temporal picks is
}

# graphd::SamplingRule, applied to one of the hop's seed lists.
struct Pick {
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
  counts @0 :Data;      # per seed, in the width that countBytes says
  countBytes @1 :UInt8;
  neighbors @2 :Data;   # type-wise ids of the neighbours' type
  edges @3 :Data;       # type-wise edge ids, if asked for
  races @4 :Data;       # outward: uint64 per edge, by which answers of several partitions merge
}

# A node feature of a hop's seeds from index `begin` on.
struct SeedRows {
  seeds @0 :UInt16;
  name @1 :Text;
  begin @2 :UInt32;
}

# graphd::EdgeIndexSpec
struct EdgeIndex {
  kind @0 :UInt8;
  outward @1 :Bool;
  etype @2 :Int32;
  column @3 :Text;
}

# What an attached client may do. Dropping it leaves the job. "Own" ids are those that the partition
# owns; any other is refused.
interface Session {
  # One hop of sampling: every pick on its seeds (own nodes, unless the pick is outward), and rows of
  # own seeds with it.
  hop @0 (part :Int32, seeds :List(Seeds), picks :List(Pick), rows :List(SeedRows))
      -> (samples :List(Sampled), rows :List(Data));

  # Rows of a feature by type-wise id, in the order of `ids`.
  gather @1 (part :Int32, isEdge :Bool, type :Int32, name :Text, ids :Data) -> (rows :Data);

  # `count` rows from local row `begin` on.
  slice @2 (part :Int32, isEdge :Bool, type :Int32, name :Text, begin :Int64, count :Int64)
      -> (rows :Data);

  # Returns when every trainer of the job has called it. On the daemon of partition 0.
  barrier @3 () -> ();

  # Ends of own edges, in the order of `ids`.
  findEdges @4 (part :Int32, etype :Int32, ids :Data) -> (src :Data, dst :Data);

  # Whether there is an edge src[i] -> dst[i]; own destinations. One byte per pair.
  hasEdges @5 (part :Int32, etype :Int32, src :Data, dst :Data) -> (found :Data);

  # Edges of this partition that end in own nodes, or begin in any: uint32 per id.
  degrees @6 (part :Int32, etype :Int32, outward :Bool, ids :Data) -> (counts :Data);

  # Of the in-edges of own `seeds` those whose source is in `members` (ascending, distinct): per seed
  # a count, per edge the source's index in members.
  induced @7 (part :Int32, etype :Int32, seeds :Data, members :Data)
      -> (counts :Data, indices :Data, edges :Data);

  # A derived array of the partition, built if it is not there yet. Over the Unix socket.
  edgeIndex @8 (part :Int32, index :EdgeIndex) -> (segment :SegmentInfo);

  # Makes or opens this partition's share of a distributed tensor. Without `create` the spec has only
  # the name and `persistent`. `fill`: the caller is to write the first values, and then says filled,
  # or that it gives up; others see `filling` until then.
  openTensor @9 (part :Int32, spec :TensorSpec, create :Bool, callerFills :Bool)
      -> (info :TensorInfo, fill :Bool, filling :Bool);
  filled @10 (table :UInt32, givenUp :Bool) -> ();

  # Memory of the share, to be read under its pages' sequence locks. Over the Unix socket.
  mapTensor @11 (table :UInt32) -> (handle :SegmentHandle);

  # Rows by type-wise id, in the order of `ids`; none of them torn.
  readRows @12 (table :UInt32, ids :Data) -> (rows :Data);

  # Changes rows; answered when that is as durable as the daemon is configured, and visible. A push
  # of a client whose `sequence` is not above that of its last one was applied before, and is not
  # again. An answer with an error other than "unavailable" means that nothing was applied.
  push @13 (table :UInt32, rule :UpdateRule, client :ClientId, sequence :UInt64, ids :Data,
            payload :Data, shared :SharedPayload) -> ();

  # Every trainer's part of one step, which is applied as one push, ranks in order, when all have come;
  # answered like a push. Steps count from 1; one that was applied before is answered at once.
  stage @14 (table :UInt32, rule :UpdateRule, step :UInt64, ids :Data, payload :Data,
             shared :SharedPayload) -> ();
  # The last step that was applied; 0: none.
  lastStep @15 (table :UInt32) -> (step :UInt64);

  # Takes or gives back the job's right to write; whether that changed anything. Refused while
  # another job has it.
  lease @16 (table :UInt32, hold :Bool) -> (changed :Bool);

  # What an optimiser keeps beside each row, zero at first. Refused if there is another's.
  prepareState @17 (table :UInt32, state :UInt8) -> ();

  # Tensors that this job can see.
  listTensors @18 () -> (tensors :List(TensorInfo));
  # The rows are gone for good.
  dropTensor @19 (table :UInt32) -> ();

  checkpoints @20 () -> (service :Checkpoints);

  # Memory for payloads that do not travel in messages: this session's, the same for each call. Over
  # the Unix socket.
  pushMemory @21 () -> (handle :SegmentHandle, id :UInt64);
}

# A payload in the session's pushMemory, in place of one in the message. Must not change until the
# answer.
struct SharedPayload {
  memory @0 :UInt64;  # its id; 0: there is none, the payload is in the message
  offset @1 :UInt64;  # a multiple of 64
  bytes @2 :UInt64;
}

# graphd::store::UpdateRule
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
  parts @1 :List(Int32);   # that lie with this daemon
  manifest @2 :Text;       # JSON; with the daemon that had partition 0
  bytes @3 :UInt64;        # on this machine's disk
  id @4 :Text;             # of the making that the parts are of
  trouble @5 :Text;        # what is damaged, as far as it was looked at; the rest is missing then
}

# Checkpoints as one daemon has them. Whoever makes one talks to all daemons: prepare everywhere, then
# hold everywhere, then take everywhere, then commit everywhere, the manifest's daemon last.
interface Checkpoints {
  # Writes pages back while pushes go on. No names: all persistent tensors.
  # `id` tells the parts of this making from those of another of the same name.
  prepare @0 (name :Text, tensors :List(Text), id :Text) -> (making :Making);
  list @1 () -> (checkpoints :List(CheckpointInfo));
  # Rows [begin, begin + count) of one partition's share, fewer only at its end, and the optimiser's
  # state of each.
  readRows @2 (name :Text, part :Int32, tensor :Text, begin :Int64, count :Int64)
      -> (rows :Data, states :Data);
  readFile @3 (name :Text, file :Text, offset :UInt64, count :UInt64) -> (data :Data);
  delete @4 (name :Text) -> ();
  # What `orig_id` was of each row of a node's or edge's tensor, int64; nothing if the graph had none.
  originalIds @5 (name :Text, part :Int32, tensor :Text, begin :Int64, count :Int64)
      -> (ids :Data);
  # Before a tensor's rows are loaded, and after the last: meanwhile nobody reads or writes them.
  loading @6 (table :UInt32, on :Bool) -> ();
}

# A checkpoint in the making. Dropping it before commit leaves nothing of it.
interface Making {
  hold @0 () -> ();        # from now on pushes wait
  take @1 () -> (tensors :List(TensorInfo), bytes :UInt64);  # what is there; pushes go on
  addFile @2 (file :Text, offset :UInt64, data :Data) -> ();
  commit @3 (manifest :Text) -> ();
}
