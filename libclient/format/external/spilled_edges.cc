// SPDX-License-Identifier: Apache-2.0
#include "format/external/spilled_edges.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/file.h"
#include "base/huge_array.h"
#include "base/index.h"
#include "base/strings.h"
#include "base/threads/run_threads.h"
#include "format/external/edge_merge.h"
#include "format/external/node_cells.h"
#include "format/io/json_field.h"
#include "format/native/encoder.h"
#include "format/partition/edge_sorter.h"
#include "format/partition/sorted_edges.h"
#include "graph/id_json.h"

namespace graphd {
namespace {

// The least number of edges that are buffered for a run, and the most.
constexpr uint64_t kLeastBuffer = 16, kMostBuffer = 32768;
constexpr uint64_t kPieceBytes = uint64_t{1} << 20;
// The memory that sorting takes besides edges and nodes: a piece and the counts of all groups of
// nodes.
constexpr uint64_t kFixedBytes = uint64_t{3} << 20;

constexpr const char* kEndings[] = {".keys", ".nodes", ".rows"};

size_t KeyBytes(bool narrow) { return narrow ? sizeof(NarrowEdgeKey) : sizeof(WideEdgeKey); }

// Returns the memory that an edge takes while its run is sorted: the edge as it was read, its key
// in its old and its new place, and the lower bits of its node.
uint64_t SortedEdgeBytes(bool narrow, size_t row_bytes) {
  const size_t key = KeyBytes(narrow) + (row_bytes ? 8 : 0);
  return SpilledEdgeBytes(narrow, row_bytes) + 2 * key + 2;
}
constexpr uint64_t kSortedNodeBytes = 24;

// Returns the number of threads that distribute so many edges.
size_t DistributingThreads(uint64_t edges) { return edges < 100'000 ? 1 : UsefulThreads(); }

// Returns the part of the memory that is for the edges and nodes of a run.
uint64_t RoomForEdges(uint64_t memory) { return memory - std::min(memory / 2, kFixedBytes); }

// A key that also tells where the row of its edge is.
template <class Key>
struct PlacedKey {
  PlacedKey() = default;
  PlacedKey(const Key& k, uint32_t where) : key(k), at(where) {}
  uint64_t src() const noexcept { return key.src(); }
  uint64_t edge() const noexcept { return key.edge(); }
  auto operator<=>(const PlacedKey&) const = default;
  Key key;
  uint32_t at;
};

uint32_t PlaceOf(const auto& key) {
  if constexpr (requires { key.at; }) {
    return key.at;
  } else {
    return 0;
  }
}

// The files of all runs: keys, nodes and rows by position.
class RunFiles {
 public:
  RunFiles(const std::string& path, int flags, size_t row_bytes) {
    for (size_t i = 0; i < (row_bytes ? 3 : 2); i++) {
      paths_[i] = path + kEndings[i];
      fds_[i] = OpenFile(paths_[i], flags);
    }
  }
  void Write(size_t file, uint64_t offset, std::span<const std::byte> bytes) const {
    WriteExactlyAt(fds_[file].get(), offset, bytes, paths_[file]);
  }
  void Read(size_t file, uint64_t offset, std::span<std::byte> bytes) const {
    ReadExactly(fds_[file].get(), offset, bytes, paths_[file]);
  }
  const std::string& path(size_t file) const noexcept { return paths_[file]; }
  // Asks the kernel to read a range of each file soon.
  void Prefetch(uint64_t begin, uint64_t end, const std::array<size_t, 3>& widths) const {
    for (size_t i = 0; i < 3 && fds_[i]; i++) {
      ::posix_fadvise(fds_[i].get(), static_cast<off_t>(begin * widths[i]),
                      static_cast<off_t>((end - begin) * widths[i]), POSIX_FADV_WILLNEED);
    }
  }

 private:
  std::array<std::string, 3> paths_;
  std::array<UniqueFd, 3> fds_;
};

// The edges that one thread has not written to their runs yet.
template <class Key>
class RunBuffers {
 public:
  RunBuffers(const RunFiles& files, std::vector<uint64_t> cursors, size_t per_run, size_t row_bytes)
      : files_(files),
        cursors_(std::move(cursors)),
        per_run_(per_run),
        row_bytes_(row_bytes),
        filled_(cursors_.size(), 0),
        keys_(cursors_.size() * per_run, "edges on their way to the disk"),
        nodes_(cursors_.size() * per_run, "edges on their way to the disk"),
        rows_(cursors_.size() * per_run * row_bytes, "edges on their way to the disk") {}

  // Adds an edge and returns where its row belongs.
  std::byte* Add(size_t run, const Key& key, uint32_t node) {
    if (filled_[run] == per_run_) Flush(run);
    const size_t at = run * per_run_ + filled_[run]++;
    keys_[at] = key;
    nodes_[at] = node;
    return rows_.data() + at * row_bytes_;
  }
  void FlushAll() {
    for (size_t run = 0; run < filled_.size(); run++) Flush(run);
  }

 private:
  void Flush(size_t run) {
    const size_t count = filled_[run], at = run * per_run_;
    if (count == 0) return;
    const uint64_t to = cursors_[run];
    files_.Write(0, to * sizeof(Key), std::as_bytes(keys_.span().subspan(at, count)));
    files_.Write(1, to * sizeof(uint32_t), std::as_bytes(nodes_.span().subspan(at, count)));
    if (row_bytes_) {
      files_.Write(2, to * row_bytes_, rows_.span().subspan(at * row_bytes_, count * row_bytes_));
    }
    cursors_[run] += count;
    filled_[run] = 0;
  }

  const RunFiles& files_;
  std::vector<uint64_t> cursors_;  // by run: the position of the next edge in the files
  const size_t per_run_, row_bytes_;
  std::vector<size_t> filled_;
  HugeArray<Key> keys_;
  HugeArray<uint32_t> nodes_;
  HugeArray<std::byte> rows_;
};

// Copies the rows of an edge's features as they will be stored.
class RowEncoder {
 public:
  explicit RowEncoder(const std::vector<EdgeColumn>& columns) : columns_(columns) {}

  void Write(size_t edge, std::byte* to) const {
    for (const EdgeColumn& column : columns_) {
      const size_t row = edge % Index(column.values->num_rows());
      Encode(column.encoding, column.values->data() + row * column.values->row_bytes(),
             column.elements(), to);
      to += column.stored_bytes();
    }
  }

 private:
  const std::vector<EdgeColumn>& columns_;
};

// Distributes the edges of a graph to the runs that it forms.
template <class Key>
class Distributor {
 public:
  Distributor(const RawEdges& edges, const NodeNumbering& src, const NodeNumbering& dst,
              const std::vector<EdgeColumn>& columns, size_t row_bytes, uint64_t memory,
              const StepProgress& progress)
      : edges_(edges),
        src_(src),
        new_src_(src.new_ids),
        new_dst_(dst.new_ids),
        encoder_(columns),
        row_bytes_(row_bytes),
        memory_(memory),
        progress_(progress),
        total_(Index(edges.count())),
        threads_(DistributingThreads(total_)),
        cells_(dst.first),
        counts_(threads_, std::vector<uint64_t>(cells_.size(), 0)) {}

  // Distributes the edges to files and returns the runs.
  std::vector<EdgeRun> Run(const std::string& path) {
    RunThreads(threads_, [&](size_t thread) { Count(thread); });
    FormRuns();
    const RunFiles files(path, O_RDWR | O_CREAT | O_TRUNC, row_bytes_);
    RunThreads(threads_, [&](size_t thread) { Distribute(files, thread); });
    const size_t all = std::max<size_t>(total_, 1);
    if (progress_) progress_("distributing edges", all, all);
    return std::move(runs_);
  }
  // Returns the number of edges that join two partitions.
  int64_t edge_cut() const { return cut_; }

 private:
  // Returns the first edge of a thread's share. The shares are consecutive, in the order of the
  // threads.
  size_t Begin(size_t thread) const { return total_ * thread / threads_; }

  // Reports how many edges all threads have done, as estimated from the edges of the first thread.
  void Report(const char* step, size_t thread, size_t edge) const {
    if (thread != 0 || edge % (size_t{1} << 20) != 0 || !progress_) return;
    progress_(step, std::min(edge * threads_, total_ - 1), total_);
  }

  void Count(size_t thread) {
    std::vector<uint64_t>& counts = counts_[thread];
    new_dst_.Visit([&](auto ids) {
      edges_.ForEachIn(Begin(thread), Begin(thread + 1), [&](size_t edge, uint64_t, uint64_t v) {
        counts[cells_.Of(ids[v])]++;
        Report("counting edges", thread, edge);
      });
    });
  }

  // Forms the runs, each of consecutive cells of one partition, and computes where each thread's
  // edges begin in each run.
  void FormRuns() {
    const uint64_t most = RoomForEdges(memory_);
    const uint64_t edge_bytes = SortedEdgeBytes(sizeof(Key) == KeyBytes(true), row_bytes_);
    run_of_cell_.resize(cells_.size());
    cursors_.resize(threads_);
    uint64_t position = 0, bytes = 0;
    for (size_t cell = 0; cell < cells_.size(); cell++) {
      uint64_t edges = 0;
      for (const auto& counts : counts_) edges += counts[cell];
      const uint64_t cell_bytes =
          edges * edge_bytes + (cells_.end(cell) - cells_.begin(cell)) * kSortedNodeBytes;
      const bool fits =
          !runs_.empty() && runs_.back().part == cells_.part(cell) && bytes + cell_bytes <= most;
      if (!fits) {
        runs_.push_back({cells_.part(cell), cells_.begin(cell), 0, position, position});
        for (auto& cursors : cursors_) cursors.push_back(0);
        bytes = 0;
      }
      bytes += cell_bytes;
      position += edges;
      runs_.back().end_node = cells_.end(cell);
      runs_.back().end = position;
      run_of_cell_[cell] = static_cast<uint32_t>(runs_.size() - 1);
      for (size_t t = 0; t < threads_; t++) cursors_[t].back() += counts_[t][cell];
    }
    counts_ = {};
    for (size_t run = 0; run < runs_.size(); run++) {
      uint64_t next = runs_[run].begin;
      for (auto& cursors : cursors_) next += std::exchange(cursors[run], next);
    }
  }

  void Distribute(const RunFiles& files, size_t thread) {
    const uint64_t edge_bytes = SpilledEdgeBytes(sizeof(Key) == KeyBytes(true), row_bytes_);
    const uint64_t buffered =
        memory_ / 4 * 3 / (edge_bytes * threads_ * std::max<size_t>(runs_.size(), 1));
    RunBuffers<Key> buffers(files, std::move(cursors_[thread]),
                            std::clamp(buffered, kLeastBuffer, kMostBuffer), row_bytes_);
    int64_t cut = 0;
    const auto add = [&](size_t edge, uint64_t source, uint64_t node) {
      const uint32_t number = run_of_cell_[cells_.Of(node)];
      const EdgeRun& run = runs_[number];
      const auto own = static_cast<uint64_t>(src_.first[Index(run.part)]);
      cut += source - own >= static_cast<uint64_t>(src_.first[Index(run.part) + 1]) - own;
      std::byte* row =
          buffers.Add(number, Key(source, edge), static_cast<uint32_t>(node - run.first_node));
      if (row_bytes_) encoder_.Write(edge, row);
      Report("distributing edges", thread, edge);
    };
    new_src_.Visit([&](auto sources) {
      new_dst_.Visit([&](auto destinations) {
        edges_.ForEachIn(
            Begin(thread), Begin(thread + 1),
            [&](size_t edge, uint64_t u, uint64_t v) { add(edge, sources[u], destinations[v]); });
      });
    });
    buffers.FlushAll();
    cut_ += cut;
  }

  const RawEdges& edges_;
  const NodeNumbering& src_;
  const IdSpan new_src_, new_dst_;
  const RowEncoder encoder_;
  const size_t row_bytes_;
  const uint64_t memory_;
  const StepProgress& progress_;
  const size_t total_, threads_;
  const NodeCells cells_;
  std::vector<std::vector<uint64_t>> counts_;  // [thread][cell] edges
  std::vector<EdgeRun> runs_;
  std::vector<uint32_t> run_of_cell_;
  std::vector<std::vector<uint64_t>> cursors_;  // [thread][run] position of its next edge
  std::atomic<int64_t> cut_{0};
};

// Part of a run in memory, sorted.
template <class Key, class SortKey>
class Chunk {
 public:
  Chunk(const RunFiles& files, const EdgeRun& run, uint64_t begin, uint64_t end, size_t row_bytes)
      : nodes_(end - begin, "edges of a run"),
        rows_((end - begin) * row_bytes, "edges of a run"),
        row_bytes_(row_bytes) {
    Source source{HugeArray<Key>(end - begin, "edges of a run"), nodes_,
                  run.end_node - run.first_node};
    files.Read(0, begin * sizeof(Key), std::as_writable_bytes(Writable(source.keys)));
    files.Read(1, begin * sizeof(uint32_t), std::as_writable_bytes(Writable(nodes_)));
    if (row_bytes) files.Read(2, begin * row_bytes, Writable(rows_));
    CheckNodes(files, run.end_node - run.first_node, begin);
    EdgeSorter<SortKey, Source> sorter(source);
    sorter.Sort(offsets_);
    sorted_ = sorter.TakeKeys();
  }

  std::span<const SortKey> keys() const { return sorted_.span(); }
  std::span<const uint64_t> offsets() const { return offsets_; }
  std::span<const std::byte> row(const SortKey& key) const {
    return rows_.span().subspan(PlaceOf(key) * row_bytes_, row_bytes_);
  }

 private:
  struct Source {
    HugeArray<Key> keys;
    const HugeArray<uint32_t>& nodes;
    size_t count;

    size_t size() const { return keys.size(); }
    size_t num_nodes() const { return count; }
    template <class F>
    void ForEachNode(size_t begin, size_t end, F&& f) const {
      for (size_t i = begin; i < end; i++) f(nodes[i]);
    }
    template <class F>
    void ForEachEdge(size_t begin, size_t end, F&& f) const {
      for (size_t i = begin; i < end; i++) {
        if constexpr (std::is_same_v<Key, SortKey>) {
          f(keys[i], nodes[i]);
        } else {
          f(SortKey(keys[i], static_cast<uint32_t>(i)), nodes[i]);
        }
      }
    }
  };
  // Throws if the files have nodes that do not belong to the run, because these would be counted
  // beyond the end of an array.
  void CheckNodes(const RunFiles& files, uint64_t num_nodes, uint64_t begin) const {
    for (size_t i = 0; i < nodes_.size(); i++) {
      if (nodes_[i] < num_nodes) continue;
      const std::string& path = files.path(1);
      Throw(ErrorCode::kCorrupt, path, ": edge ", begin + i, " (from 0) has node ", nodes_[i],
            " of a run of ", num_nodes, " nodes; remove ", DirName(path), " and start again");
    }
  }
  template <class T>
  static std::span<T> Writable(HugeArray<T>& array) {
    return {array.data(), array.size()};
  }

  HugeArray<uint32_t> nodes_;
  HugeArray<std::byte> rows_;
  size_t row_bytes_;
  std::vector<uint64_t> offsets_;
  HugeArray<SortKey> sorted_;
};

// Collects sorted edges into pieces.
class PieceMaker {
 public:
  PieceMaker(size_t row_bytes, const std::function<void(const SortedPiece&)>& piece)
      : most_(std::max<uint64_t>(1, kPieceBytes / (16 + row_bytes))), piece_(piece) {}

  void Add(uint64_t src, uint64_t edge, std::span<const std::byte> row) {
    current_.src.push_back(src);
    current_.edge.push_back(edge);
    current_.rows.insert(current_.rows.end(), row.begin(), row.end());
    if (current_.src.size() == most_) Pass();
  }
  void Pass() {
    if (current_.src.empty()) return;
    piece_(current_);
    current_.src.clear();
    current_.edge.clear();
    current_.rows.clear();
  }

 private:
  const size_t most_;
  const std::function<void(const SortedPiece&)>& piece_;
  SortedPiece current_;
};

// Sorts a run by parts of `most` edges, which are merged if there are several.
template <class Key, class SortKey>
void SortRun(const RunFiles& files, const EdgeRun& run, uint64_t most, size_t row_bytes,
             const std::string& path, uint64_t memory,
             const std::function<void(std::span<const uint64_t>)>& degrees, PieceMaker& pieces) {
  std::vector<uint64_t> of_node(run.end_node - run.first_node, 0);
  const auto count = [&](std::span<const uint64_t> offsets) {
    for (size_t v = 0; v < of_node.size(); v++) of_node[v] += offsets[v + 1] - offsets[v];
  };
  if (run.end - run.begin <= most) {
    const Chunk<Key, SortKey> all(files, run, run.begin, run.end, row_bytes);
    count(all.offsets());
    degrees(of_node);
    for (const SortKey& key : all.keys()) pieces.Add(key.src(), key.edge(), all.row(key));
    return;
  }
  EdgeMerge merge(path, row_bytes);
  for (uint64_t begin = run.begin; begin < run.end; begin += most) {
    const Chunk<Key, SortKey> chunk(files, run, begin, std::min(run.end, begin + most), row_bytes);
    count(chunk.offsets());
    merge.BeginPart();
    for (size_t v = 0; v < of_node.size(); v++) {
      for (uint64_t i = chunk.offsets()[v]; i < chunk.offsets()[v + 1]; i++) {
        const SortKey& key = chunk.keys()[i];
        merge.Add({v, key.src(), key.edge()}, chunk.row(key));
      }
    }
  }
  degrees(of_node);
  merge.ForEach(memory, [&](const MergedEdge& edge, std::span<const std::byte> row) {
    pieces.Add(edge.src, edge.edge, row);
  });
}

}  // namespace

size_t EdgeColumn::elements() const { return values->row_bytes() / DTypeSize(values->dtype()); }

uint64_t SpilledEdgeBytes(bool narrow, size_t row_bytes) noexcept {
  return KeyBytes(narrow) + sizeof(uint32_t) + row_bytes;
}

uint64_t LeastSortMemory(uint64_t edges, bool narrow, size_t row_bytes,
                         int32_t num_parts) noexcept {
  const auto parts = static_cast<uint64_t>(num_parts);
  const uint64_t threads = DistributingThreads(edges);
  for (uint64_t memory = uint64_t{8} << 20;; memory += memory / 4) {
    // Runs are filled at least by half, or end with their partition.
    const uint64_t runs =
        2 * edges * SortedEdgeBytes(narrow, row_bytes) / (memory - kFixedBytes) + 2 * parts + 1;
    const uint64_t buffer =
        kLeastBuffer * SpilledEdgeBytes(narrow, row_bytes) + 2 * sizeof(uint64_t);
    const uint64_t buffers = runs * threads * buffer;
    // Each thread counts the edges of all groups of nodes (NodeCells) before it has buffers.
    const uint64_t counts = threads * (65537 + parts) * sizeof(uint64_t);
    const uint64_t fixed = kFixedBytes + parts * 64;
    if (buffers + fixed <= memory / 2 && counts + fixed <= memory) return memory;
  }
}

SpilledEdges::SpilledEdges(const RawEdges& edges, const NodeNumbering& src,
                           const NodeNumbering& dst, const std::vector<EdgeColumn>& columns,
                           uint64_t memory, const std::string& path, const StepProgress& progress)
    : path_(path), narrow_(NarrowEdgeKey::Holds(src, edges)), memory_(memory) {
  for (const EdgeColumn& column : columns) row_bytes_ += column.stored_bytes();
  const auto distribute = [&]<class Key>(Key) {
    Distributor<Key> distributor(edges, src, dst, columns, row_bytes_, memory_, progress);
    runs_ = distributor.Run(path_);
    edge_cut_ = distributor.edge_cut();
  };
  if (narrow_) {
    distribute(NarrowEdgeKey());
  } else {
    distribute(WideEdgeKey());
  }
}

std::vector<int64_t> SpilledEdges::Counts(int32_t num_parts) const {
  std::vector<int64_t> counts(Index(num_parts), 0);
  for (const EdgeRun& run : runs_) {
    counts[Index(run.part)] += static_cast<int64_t>(run.end - run.begin);
  }
  return counts;
}

void SpilledEdges::ForEachPiece(const EdgeRun& run,
                                const std::function<void(std::span<const uint64_t>)>& degrees,
                                const std::function<void(const SortedPiece&)>& piece) const {
  const RunFiles files(path_, O_RDONLY, row_bytes_);
  const uint64_t room = RoomForEdges(memory_);
  const uint64_t nodes = (run.end_node - run.first_node) * kSortedNodeBytes;
  const uint64_t most = std::clamp<uint64_t>(
      (room - std::min(room / 2, nodes)) / SortedEdgeBytes(narrow_, row_bytes_), 1024,
      uint64_t{1} << 31);
  PieceMaker pieces(row_bytes_, piece);
  const auto sort = [&]<class Key, class SortKey>(Key, SortKey) {
    SortRun<Key, SortKey>(files, run, most, row_bytes_, path_ + ".merge", room, degrees, pieces);
  };
  files.Prefetch(run.end, run.end + (run.end - run.begin),
                 {KeyBytes(narrow_), sizeof(uint32_t), row_bytes_});
  if (narrow_) {
    if (row_bytes_) {
      sort(NarrowEdgeKey(), PlacedKey<NarrowEdgeKey>());
    } else {
      sort(NarrowEdgeKey(), NarrowEdgeKey());
    }
  } else if (row_bytes_) {
    sort(WideEdgeKey(), PlacedKey<WideEdgeKey>());
  } else {
    sort(WideEdgeKey(), WideEdgeKey());
  }
  pieces.Pass();
}

void SpilledEdges::Remove() const {
  for (const char* ending : kEndings) ::unlink((path_ + ending).c_str());
}

nlohmann::ordered_json SpilledEdges::ToJson() const {
  nlohmann::ordered_json runs = nlohmann::ordered_json::array();
  for (const EdgeRun& run : runs_) {
    runs.push_back(
        {static_cast<int32_t>(run.part), run.first_node, run.end_node, run.begin, run.end});
  }
  return {{"path", path_},     {"narrow", narrow_ ? 1 : 0}, {"row_bytes", row_bytes_},
          {"memory", memory_}, {"edge_cut", edge_cut_},     {"runs", std::move(runs)}};
}

SpilledEdges SpilledEdges::FromJson(const nlohmann::json& json, const std::string& file) {
  const JsonField root(json, file);
  SpilledEdges edges;
  edges.path_ = root["path"].String();
  edges.narrow_ = root["narrow"].Int(0, 1) != 0;
  edges.row_bytes_ = Index(root["row_bytes"].Int(0, INT64_MAX));
  edges.memory_ = Index(root["memory"].Int(0, INT64_MAX));
  edges.edge_cut_ = root["edge_cut"].Int(0, INT64_MAX);
  const JsonField runs = root["runs"];
  for (size_t i = 0; i < runs.size(); i++) {
    const auto number = [&](size_t at) { return Index(runs[i][at].Int(0, INT64_MAX)); };
    edges.runs_.push_back({static_cast<PartId>(runs[i][0].Int(0, INT32_MAX)), number(1), number(2),
                           number(3), number(4)});
  }
  return edges;
}

}  // namespace graphd
