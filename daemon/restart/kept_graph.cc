// SPDX-License-Identifier: Apache-2.0
#include "daemon/restart/kept_graph.h"

#include <capnp/serialize.h>
#include <sys/stat.h>
#include <xxhash.h>

#include <algorithm>
#include <cstring>
#include <set>

#include "base/log.h"
#include "base/strings.h"
#include "format/io/checksum.h"
#include "restart/kept_graph.capnp.h"
#include "wire/bounded.h"
#include "wire/graph_messages.h"
#include "wire/received_graph.h"

namespace graphd {
namespace {

constexpr const char* kManifest = "graph-manifest";
constexpr const char* kSegmentPrefix = "graph-segment-";
constexpr const char* kSource = "the manifest of the kept graph";
// The array of the manifest's segment that contains the message.
constexpr const char* kMessage = "manifest";
constexpr const char* kOwners = "owners";        // the array of LayoutOfOwners
constexpr uint64_t kMagic = 0x6d2d646870617267;  // "graphd-m"
constexpr uint64_t kCheckedBytes = 4096;         // at the beginning of each array

// The beginning of the manifest's memory; the message follows.
struct Header {
  uint64_t magic;
  uint64_t bytes;     // the size of the message
  uint64_t checksum;  // XXH3-64 of the message
};

// Returns the name under which a segment is kept. It has the inode number of the segment's memory
// file, which no other memory file has.
std::string KeptName(const Segment& segment) {
  struct stat info {};
  if (::fstat(segment.fd(), &info) != 0) ThrowErrno("can't stat", "a segment");
  return StrCat(kSegmentPrefix, info.st_ino);
}

// Makes the service manager close the descriptors of graphs that it keeps, except for those of the
// segments in `wanted`. Returns how many are closed.
int RemoveOthers(DescriptorStore& store, const std::set<std::string>& wanted) {
  int removed = 0;
  for (const std::string& name : std::set<std::string>(store.names())) {
    const bool is_of_graph = name == kManifest || name.rfind(kSegmentPrefix, 0) == 0;
    if (!is_of_graph || wanted.contains(name)) continue;
    store.Remove(name);
    removed++;
  }
  return removed;
}

// Returns a checksum that tells a segment apart from any other with the same layout. It covers only
// the beginning of each array, so that it takes little time for arrays of all sizes. That is
// enough, because sealed memory can't have changed: the only possible mistake is a descriptor of
// other memory.
uint64_t ChecksumOfHeads(const Segment& segment) {
  Checksum checksum;
  for (const ArraySpec& array : segment.layout().arrays()) {
    const Tensor elements = segment.array(array.name);
    checksum.Update({elements.data(), std::min(array.bytes, kCheckedBytes)});
  }
  return checksum.Digest();
}

void WriteSegment(const Segment& segment, kept::Segment::Builder out) {
  out.setDescriptor(KeptName(segment));
  WriteLayout(segment.layout(), out.initLayout());
  out.setChecksum(ChecksumOfHeads(segment));
}

std::shared_ptr<const Segment> TakeSegment(DescriptorStore& store, kept::Segment::Reader in) {
  const std::string name = in.getDescriptor().cStr();
  UniqueFd fd = store.Take(name);
  if (!fd) Throw(ErrorCode::kNotFound, "the descriptor ", name, " was not passed");
  auto segment = Segment::Map(std::move(fd), ReadLayout(in.getLayout(), kSource));
  if (ChecksumOfHeads(*segment) != in.getChecksum()) {
    Throw(ErrorCode::kCorrupt, "the descriptor ", name, " is not the memory that was kept: the ",
          "checksum of its arrays' beginnings differs");
  }
  return segment;
}

EdgeIndexSpec ReadIndex(wire::EdgeIndex::Reader in) {
  return {static_cast<EdgeIndexKind>(in.getKind()), in.getOutward(), in.getEtype(),
          in.getColumn().cStr()};
}

// Returns the bytes of a graph's manifest in a sealed memory file.
std::shared_ptr<const Segment> MakeManifest(const KeptGraph& graph) {
  capnp::MallocMessageBuilder message;
  auto root = message.initRoot<kept::Graph>();
  root.setVersion(kept::KEPT_VERSION);
  root.setPartConfig(graph.part_config);
  auto files = root.initFiles(static_cast<kj::uint>(graph.files.size()));
  for (kj::uint i = 0; i < files.size(); i++) {
    const FileStamp& stamp = graph.files[i];
    files[i].setPath(stamp.path);
    files[i].setDevice(stamp.device);
    files[i].setInode(stamp.inode);
    files[i].setBytes(stamp.bytes);
    files[i].setModified(stamp.modified);
  }
  auto meta = root.initGraph();
  WriteGraph(graph.partitions.at(0)->meta(), meta);
  const auto write_owners = [](const Segment& segment, wire::IdMap::Builder map,
                               kept::Segment::Builder out) {
    map.setChecksum(ChecksumOfOwners(segment.array(kOwners).as<int32_t>()));
    WriteSegment(segment, out);
  };
  if (graph.node_owners) {
    write_owners(*graph.node_owners, meta.getNodes(), root.initNodeOwners());
  }
  if (graph.edge_owners) {
    write_owners(*graph.edge_owners, meta.getEdges(), root.initEdgeOwners());
  }
  auto partitions = root.initPartitions(static_cast<kj::uint>(graph.partitions.size()));
  for (kj::uint p = 0; p < partitions.size(); p++) {
    const Partition& partition = *graph.partitions[p];
    partitions[p].setPart(partition.id());
    auto segments = partitions[p].initSegments(static_cast<kj::uint>(partition.segments().size()));
    for (kj::uint s = 0; s < segments.size(); s++) {
      WriteSegment(*partition.segments()[s], segments[s]);
    }
    const auto is_of_partition = [&](const auto& entry) {
      return entry.first.first == partition.id();
    };
    auto indexes = partitions[p].initIndexes(static_cast<kj::uint>(
        std::count_if(graph.indexes.begin(), graph.indexes.end(), is_of_partition)));
    kj::uint i = 0;
    for (const auto& entry : graph.indexes) {
      if (!is_of_partition(entry)) continue;
      const EdgeIndexSpec& spec = entry.first.second;
      auto index = indexes[i].initIndex();
      index.setKind(static_cast<uint8_t>(spec.kind));
      index.setOutward(spec.out);
      index.setEtype(spec.etype);
      index.setColumn(spec.column);
      WriteSegment(*entry.second, indexes[i++].initSegment());
    }
  }
  const kj::Array<capnp::word> words = capnp::messageToFlatArray(message);
  const auto bytes = words.asBytes();
  const Header header{kMagic, bytes.size(), XXH3_64bits(bytes.begin(), bytes.size())};
  SegmentLayout layout;
  layout.Add(kMessage, DType::kUInt8, {static_cast<int64_t>(sizeof header + bytes.size())});
  SegmentWriter writer(kManifest, std::move(layout));
  std::memcpy(writer.bytes().data(), &header, sizeof header);
  std::memcpy(writer.bytes().data() + sizeof header, bytes.begin(), bytes.size());
  return std::move(writer).Seal();
}

// Returns the message of a manifest. Throws Error(kCorrupt) unless each byte of it is as it was
// written.
kj::ArrayPtr<const capnp::word> CheckedMessage(const Tensor& manifest) {
  Header header{};
  if (manifest.num_bytes() >= sizeof header) {
    std::memcpy(&header, manifest.data(), sizeof header);
  }
  if (header.magic != kMagic) {
    Throw(ErrorCode::kCorrupt, "its manifest does not begin as those of this version do");
  }
  const std::byte* message = manifest.data() + sizeof header;
  if (header.bytes > manifest.num_bytes() - sizeof header ||
      header.checksum != XXH3_64bits(message, header.bytes)) {
    Throw(ErrorCode::kCorrupt, "the checksum of its manifest is wrong");
  }
  return kj::arrayPtr(reinterpret_cast<const capnp::word*>(message),
                      header.bytes / sizeof(capnp::word));
}

// Takes the graph that the manifest describes. Throws Error if there is a reason not to use it.
KeptGraph TakeAll(DescriptorStore& store, UniqueFd manifest, const std::string& part_config,
                  const std::vector<PartId>& parts) {
  struct stat info {};
  if (::fstat(manifest.get(), &info) != 0) ThrowErrno("can't stat", kSource);
  SegmentLayout layout;
  layout.Add(kMessage, DType::kUInt8, {info.st_size});
  const auto segment = Segment::Map(std::move(manifest), std::move(layout));
  const Tensor manifest_bytes = segment->array(kMessage);
  capnp::ReaderOptions limits;
  limits.traversalLimitInWords = uint64_t{1} << 40;
  capnp::FlatArrayMessageReader message(CheckedMessage(manifest_bytes), limits);
  const auto root = message.getRoot<kept::Graph>();
  if (root.getVersion() != kept::KEPT_VERSION) {
    Throw(ErrorCode::kVersion, "it has version ", root.getVersion(), ", expected ",
          kept::KEPT_VERSION);
  }
  KeptGraph graph;
  graph.part_config = root.getPartConfig().cStr();
  if (graph.part_config != part_config) {
    Throw(ErrorCode::kInvalid, "it is ", graph.part_config, ", expected ", part_config);
  }
  std::vector<PartId> kept_parts;
  for (auto partition : BoundedList(root.getPartitions(), "partitions")) {
    kept_parts.push_back(partition.getPart());
  }
  if (kept_parts != parts) {
    Throw(ErrorCode::kInvalid, "it has partitions other than those to serve");
  }
  for (auto file : BoundedList(root.getFiles(), "files")) {
    graph.files.push_back({file.getPath().cStr(), file.getDevice(), file.getInode(),
                           file.getBytes(), file.getModified()});
    const FileStamp& stamp = graph.files.back();
    if (FileStamp::Of(stamp.path) != stamp) {
      Throw(ErrorCode::kInvalid, stamp.path, " has changed since it was loaded");
    }
  }
  const ReceivedGraph received(root.getGraph(), kSource);
  // The kept owners are checked first, because then memory is allocated for the number of owners
  // that the manifest claims.
  for (const ReceivedGraph::Missing& missing : received.missing()) {
    auto& taken = missing.is_edge ? graph.edge_owners : graph.node_owners;
    taken = TakeSegment(store, missing.is_edge ? root.getEdgeOwners() : root.getNodeOwners());
    if (taken->layout().arrays() != LayoutOfOwners(missing.size).arrays()) {
      Throw(ErrorCode::kCorrupt, "its partition book has another size");
    }
  }
  const auto meta =
      received.Complete([&](const ReceivedGraph::Missing& missing, std::span<int32_t> owners) {
        const Segment& taken = missing.is_edge ? *graph.edge_owners : *graph.node_owners;
        std::ranges::copy(taken.array(kOwners).as<int32_t>(), owners.begin());
      });
  for (auto partition : root.getPartitions()) {
    std::vector<std::shared_ptr<const Segment>> segments;
    for (auto each : BoundedList(partition.getSegments(), "segments")) {
      segments.push_back(TakeSegment(store, each));
    }
    graph.partitions.push_back(
        std::make_shared<const Partition>(meta, partition.getPart(), std::move(segments)));
    for (auto each : BoundedList(partition.getIndexes(), "indexes")) {
      graph.indexes[{partition.getPart(), ReadIndex(each.getIndex())}] =
          TakeSegment(store, each.getSegment());
    }
  }
  return graph;
}

}  // namespace

std::optional<KeptGraph> KeptGraph::Take(DescriptorStore& store, const std::string& part_config,
                                         const std::vector<PartId>& parts) {
  std::string reason = "it has no manifest";
  if (UniqueFd manifest = store.Take(kManifest)) {
    try {
      return TakeAll(store, std::move(manifest), part_config, parts);
    } catch (const kj::Exception& exception) {
      reason = exception.getDescription().cStr();
    } catch (const std::exception& error) {
      reason = error.what();
    }
  }
  if (RemoveOthers(store, {}) > 0) {
    LogInfo(
        "the graph that an earlier process left with the service manager can't be used, and is ",
        "loaded from its files: ", reason);
  }
  return std::nullopt;
}

void KeptGraph::Keep(DescriptorStore& store) const {
  store.Remove(kManifest);
  std::set<std::string> names;
  const auto keep = [&](const Segment& segment) {
    const std::string name = KeptName(segment);
    names.insert(name);
    store.Keep(name, segment.fd());
  };
  for (const auto& partition : partitions) {
    for (const auto& segment : partition->segments()) keep(*segment);
  }
  for (const auto& [key, segment] : indexes) keep(*segment);
  if (node_owners) keep(*node_owners);
  if (edge_owners) keep(*edge_owners);
  RemoveOthers(store, names);
  store.Keep(kManifest, MakeManifest(*this)->fd());
}

}  // namespace graphd
