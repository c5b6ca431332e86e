// SPDX-License-Identifier: Apache-2.0
#include "daemon/restart/kept_graph.h"

#include <capnp/message.h>
#include <capnp/serialize.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>
#include <xxhash.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <thread>

#include "base/log.h"
#include "base/strings.h"
#include "format/io/checksum.h"
#include "format/load.h"
#include "format/load_part_config.h"
#include "format/partitioner.h"
#include "restart/kept_graph.capnp.h"
#include "sampling/index/edge_indexes.h"
#include "tests/fuzz/support/target.h"
#include "tests/fuzz/support/wire_input.h"
#include "tests/unit/format/raw_graph_samples.h"
#include "wire/bounded.h"
#include "wire/graph_messages.h"

// Takes over the graph that an earlier process left with the service manager, after the input has
// changed its manifest. The input is the manifest's message; its checksum is put right, and so are,
// if the first byte is odd, those of the segments that the message describes. The second bit of
// that byte chooses between two graphs, with one type of nodes and with several.

namespace graphd::fuzz {
namespace {

namespace fs = std::filesystem;

constexpr const char* kManifest = "graph-manifest";
constexpr size_t kHeaderBytes = 24;  // a mark, the size of the message and its checksum

// The service manager: it keeps what a process sends to the socket $NOTIFY_SOCKET.
class Manager {
 public:
  explicit Manager(const std::string& path) : socket_(::socket(AF_UNIX, SOCK_DGRAM, 0)) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    path.copy(address.sun_path, sizeof address.sun_path - 1);
    if (::bind(socket_.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) {
      ThrowErrno("can't bind", path);
    }
  }

  // Receives descriptors until the manifest has come.
  std::map<std::string, UniqueFd> Receive() const {
    std::map<std::string, UniqueFd> kept;
    while (!kept.contains(kManifest)) {
      char text[512], control[CMSG_SPACE(sizeof(int))];
      iovec part{text, sizeof text};
      msghdr message{};
      message.msg_iov = &part;
      message.msg_iovlen = 1;
      message.msg_control = control;
      message.msg_controllen = sizeof control;
      const ssize_t size = ::recvmsg(socket_.get(), &message, 0);
      if (size < 0) ThrowErrno("can't receive from", "the service manager's socket");
      const cmsghdr* const with = CMSG_FIRSTHDR(&message);
      if (with == nullptr) continue;
      int fd = -1;
      std::memcpy(&fd, CMSG_DATA(with), sizeof fd);
      const std::string line(text, static_cast<size_t>(size));
      kept[line.substr(line.find("FDNAME=") + 7)] = UniqueFd(fd);
    }
    return kept;
  }

 private:
  const UniqueFd socket_;
};

// A graph of two partitions with derived arrays, as a daemon has left it.
class Kept {
 public:
  explicit Kept(const RawGraph& graph_of_files) {
    std::string directory = (fs::temp_directory_path() / "graphd_fuzz_XXXXXX").string();
    if (::mkdtemp(directory.data()) == nullptr) ThrowErrno("can't create", directory);
    SetLogLevel(LogLevel::kError);
    PartitionOptions options;
    options.graph_name = "g";
    options.num_parts = 2;
    options.method = PartMethod::kRandom;
    options.output = directory;
    part_config_ = PartitionGraph(graph_of_files, options).part_config;
    const PartConfig config = LoadPartConfig(part_config_);
    KeptGraph graph;
    graph.part_config = part_config_;
    for (const PartId part : parts_) {
      for (const std::string& path : PartitionFiles(config, part)) {
        graph.files.push_back(FileStamp::Of(path));
      }
      graph.partitions.push_back(LoadPartition(config, part));
      const EdgeIndexSpec by_source{EdgeIndexKind::kOut, false, 0, ""};
      graph.indexes[{part, by_source}] = EdgeIndexes(graph.partitions.back()).Get(by_source);
    }
    const Manager manager(directory + "/notify");
    std::thread receiver([&] { kept_ = manager.Receive(); });
    ::setenv("NOTIFY_SOCKET", (directory + "/notify").c_str(), 1);
    DescriptorStore store;
    graph.Keep(store);
    receiver.join();
    ::unsetenv("NOTIFY_SOCKET");
    const UniqueFd manifest = std::move(kept_.at(kManifest));
    kept_.erase(kManifest);
    struct stat info {};
    if (::fstat(manifest.get(), &info) != 0) ThrowErrno("can't stat", kManifest);
    manifest_.resize(static_cast<size_t>(info.st_size));
    ReadExactly(manifest.get(), 0, std::as_writable_bytes(std::span(manifest_)), kManifest);
  }

  const std::string& part_config() const noexcept { return part_config_; }
  const std::vector<PartId>& parts() const noexcept { return parts_; }
  // Returns the message of the manifest as it was written.
  std::string message() const {
    uint64_t size = 0;
    std::memcpy(&size, manifest_.data() + sizeof size, sizeof size);
    return manifest_.substr(kHeaderBytes, size);
  }
  // Returns the descriptor of a segment, or -1.
  int Find(const std::string& name) const {
    const auto found = kept_.find(name);
    return found == kept_.end() ? -1 : found->second.get();
  }

  // Returns the descriptors with another message in the manifest.
  DescriptorStore With(std::string_view message) const {
    std::map<std::string, UniqueFd> passed;
    for (const auto& [name, fd] : kept_) passed[name] = UniqueFd(::dup(fd.get()));
    std::string manifest = manifest_.substr(0, kHeaderBytes);
    const uint64_t size = message.size(), sum = XXH3_64bits(message.data(), message.size());
    std::memcpy(manifest.data() + 8, &size, sizeof size);
    std::memcpy(manifest.data() + 16, &sum, sizeof sum);
    manifest += message;
    UniqueFd fd(::memfd_create(kManifest, MFD_CLOEXEC | MFD_ALLOW_SEALING));
    if (::write(fd.get(), manifest.data(), manifest.size()) !=
            static_cast<ssize_t>(manifest.size()) ||
        ::fcntl(fd.get(), F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK) != 0) {
      ThrowErrno("can't write", kManifest);
    }
    passed[kManifest] = std::move(fd);
    return DescriptorStore(std::move(passed));
  }

 private:
  const std::vector<PartId> parts_{0, 1};
  std::string part_config_;
  std::map<std::string, UniqueFd> kept_;  // the segments, by name
  std::string manifest_;
};

const Kept& TheKept(bool has_one_type) {
  static const Kept typed(testing::TypedGraph(20, 30, 1)),
      plain(testing::HomogeneousGraph(20, testing::RandomMultigraph(20, 60, 1)));
  return has_one_type ? plain : typed;
}

// Sets the checksum that the segment has if it is as its description says.
void CorrectChecksum(const Kept& kept, kept::Segment::Builder described) {
  Attempt([&] {
    const int fd = kept.Find(described.getDescriptor().cStr());
    if (fd < 0) return;
    const auto segment = Segment::Map(UniqueFd(::dup(fd)),
                                      ReadLayout(described.getLayout().asReader(), "the manifest"));
    Checksum checksum;
    for (const ArraySpec& array : segment->layout().arrays()) {
      checksum.Update({segment->array(array.name).data(), std::min<uint64_t>(array.bytes, 4096)});
    }
    described.setChecksum(checksum.Digest());
  });
}

// Returns the message with the right checksums of segments; empty if it can't be read.
std::string Corrected(const Kept& kept, std::string_view message) {
  try {
    capnp::FlatArrayMessageReader reader(Words(message));
    capnp::MallocMessageBuilder copy;
    copy.setRoot(reader.getRoot<kept::Graph>());
    auto root = copy.getRoot<kept::Graph>();
    if (root.hasNodeOwners()) CorrectChecksum(kept, root.getNodeOwners());
    if (root.hasEdgeOwners()) CorrectChecksum(kept, root.getEdgeOwners());
    BoundedList(root.getPartitions().asReader(), "partitions");
    for (auto partition : root.getPartitions()) {
      BoundedList(partition.getSegments().asReader(), "segments");
      BoundedList(partition.getIndexes().asReader(), "indexes");
      for (auto segment : partition.getSegments()) CorrectChecksum(kept, segment);
      for (auto index : partition.getIndexes()) CorrectChecksum(kept, index.getSegment());
    }
    const auto words = capnp::messageToFlatArray(copy);
    return {words.asChars().begin(), words.asChars().size()};
  } catch (const kj::Exception&) {
    return {};
  }
}

// Returns the message with a partition book whose owners are in a segment, and not as many as it
// says.
std::string WithManyOwners(std::string_view message) {
  capnp::FlatArrayMessageReader reader(Words(message));
  capnp::MallocMessageBuilder copy;
  copy.setRoot(reader.getRoot<kept::Graph>());
  auto root = copy.getRoot<kept::Graph>();
  root.getGraph().getNodes().setSize(int64_t{1} << 27);
  root.setNodeOwners(root.getPartitions()[0].getSegments()[0].asReader());
  const auto words = capnp::messageToFlatArray(copy);
  return {words.asChars().begin(), words.asChars().size()};
}

}  // namespace

void ReadInput(std::string_view input) {
  if (input.empty()) return;
  const Kept& kept = TheKept((input[0] & 2) != 0);
  const std::string_view raw = input.substr(1);
  const std::string message = input[0] % 2 == 0 ? std::string(raw) : Corrected(kept, raw);
  DescriptorStore store = kept.With(message);
  const auto taken = KeptGraph::Take(store, kept.part_config(), kept.parts());
  if (taken && taken->partitions.size() != kept.parts().size()) std::abort();
  if (!taken) return;
  // Memory that is described in another way must still be memory.
  for (const auto& partition : taken->partitions) {
    for (const auto& segment : partition->segments()) {
      for (const ArraySpec& array : segment->layout().arrays()) {
        Touch({segment->array(array.name).data(), array.bytes});
      }
    }
  }
}

std::vector<std::string> Seeds() {
  const std::string typed = TheKept(false).message(), plain = TheKept(true).message();
  return {'0' + typed, '1' + typed, '2' + plain, '3' + plain, '3' + WithManyOwners(plain)};
}

}  // namespace graphd::fuzz
