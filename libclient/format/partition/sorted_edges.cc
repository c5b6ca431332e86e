// SPDX-License-Identifier: Apache-2.0
#include "format/partition/sorted_edges.h"

#include <algorithm>
#include <atomic>

#include "base/run_threads.h"

namespace graphd {
namespace {

// Destinations are counted by blocks whose counters fit the cache, and gathered into buckets whose
// edges do. A bucket has at most 65536 destinations, so the lower 16 bits of a destination identify
// it within the bucket.
constexpr size_t kBlockNodes = 64;
constexpr size_t kBucketBlocks = 1024;
constexpr uint64_t kBucketEdges = uint64_t{1} << 17;

// Sorts in two steps, each on all threads: first, edges are written to the buckets of their
// destinations, in the order of their ids (there are so few buckets that the writes make good use
// of the cache); then each bucket, which fits into the cache, is sorted by destination and source.
template <class Key>
class EdgeSorter {
 public:
  EdgeSorter(const RawEdges& edges, const NodeNumbering& src, const NodeNumbering& dst)
      : edges_(edges),
        dst_(dst),
        src_(src),
        new_src_(src.new_ids),
        new_dst_(dst.new_ids),
        num_edges_(static_cast<size_t>(edges.count())),
        threads_(num_edges_ < kBucketEdges ? 1 : UsefulThreads()),
        keys_(num_edges_, "the edges in their order"),
        lows_(num_edges_, "the edges' destinations") {}

  void Sort(std::vector<uint64_t>& offsets, int64_t& edge_cut) {
    CountBlocks();
    FormBuckets();
    RunThreads(threads_, [&](size_t thread) { Scatter(thread); });
    offsets.resize(new_dst_.size() + 1);
    offsets[new_dst_.size()] = num_edges_;
    std::atomic<size_t> next{0};
    std::atomic<int64_t> cut{0};
    RunThreads(threads_, [&](size_t) {
      std::vector<Key> scratch;
      for (size_t b = next++; b < buckets_.size(); b = next++) {
        cut += SortBucket(buckets_[b], scratch, offsets);
      }
    });
    edge_cut = cut;
  }

  HugeArray<Key> TakeKeys() { return std::move(keys_); }

 private:
  struct Bucket {
    size_t first_node, end_node;
    uint64_t begin, end;  // edges
  };

  // Calls f(edge, source, destination) for the share of a thread; earlier threads have lower ids.
  template <class F>
  void ForEachOf(size_t thread, F&& f) const {
    edges_.ForEachIn(num_edges_ * thread / threads_, num_edges_ * (thread + 1) / threads_, f);
  }

  void CountBlocks() {
    counts_.assign(threads_, std::vector<uint64_t>(new_dst_.size() / kBlockNodes + 1));
    RunThreads(threads_, [&](size_t thread) {
      std::vector<uint64_t>& counts = counts_[thread];
      new_dst_.Visit([&](auto new_dst) {
        ForEachOf(thread,
                  [&](size_t, uint64_t, uint64_t v) { counts[new_dst[v] / kBlockNodes]++; });
      });
    });
  }

  // Also turns the counts by thread and block into counts by thread and bucket.
  void FormBuckets() {
    const size_t blocks = counts_[0].size();
    bucket_of_block_.resize(blocks);
    cursors_.assign(threads_, {});
    uint64_t position = 0;
    for (size_t block = 0; block < blocks;) {
      const size_t first = block;
      Bucket bucket{first * kBlockNodes, 0, position, position};
      std::vector<uint64_t> share(threads_);
      do {
        for (size_t t = 0; t < threads_; t++) {
          share[t] += counts_[t][block];
          bucket.end += counts_[t][block];
        }
        bucket_of_block_[block++] = static_cast<uint32_t>(buckets_.size());
      } while (block < blocks && block - first < kBucketBlocks &&
               bucket.end - bucket.begin < kBucketEdges);
      bucket.end_node = std::min(block * kBlockNodes, new_dst_.size());
      for (size_t t = 0; t < threads_; t++) {
        cursors_[t].push_back(position);
        position += share[t];
      }
      buckets_.push_back(bucket);
    }
    counts_.clear();
  }

  void Scatter(size_t thread) {
    std::vector<uint64_t>& cursors = cursors_[thread];
    new_src_.Visit([&](auto new_src) {
      new_dst_.Visit([&](auto new_dst) {
        ForEachOf(thread, [&](size_t edge, uint64_t u, uint64_t v) {
          const uint64_t node = new_dst[v];
          const uint32_t bucket = bucket_of_block_[node / kBlockNodes];
          const uint64_t at = cursors[bucket]++;
          keys_[at] = Key(new_src[u], edge);
          lows_[at] = static_cast<uint16_t>(node);
        });
      });
    });
  }

  // Returns the number of the bucket's edges that join two partitions.
  int64_t SortBucket(const Bucket& bucket, std::vector<Key>& scratch,
                     std::vector<uint64_t>& offsets) {
    const size_t nodes = bucket.end_node - bucket.first_node;
    const auto first_low = static_cast<uint16_t>(bucket.first_node);
    const auto node_at = [&](uint64_t i) { return static_cast<uint16_t>(lows_[i] - first_low); };
    std::vector<uint64_t> next(nodes + 1, 0);
    for (uint64_t i = bucket.begin; i < bucket.end; i++) next[node_at(i) + size_t{1}]++;
    for (size_t v = 0; v < nodes; v++) next[v + 1] += next[v];
    for (size_t v = 0; v < nodes; v++) offsets[bucket.first_node + v] = bucket.begin + next[v];
    scratch.resize(bucket.end - bucket.begin);
    for (uint64_t i = bucket.begin; i < bucket.end; i++) scratch[next[node_at(i)]++] = keys_[i];

    int64_t cut = 0;
    auto begin = scratch.begin();
    size_t p = 0;
    for (size_t v = 0; v < nodes; v++) {
      const auto end = scratch.begin() + static_cast<std::ptrdiff_t>(next[v]);
      std::sort(begin, end);
      while (bucket.first_node + v >= static_cast<size_t>(dst_.first[p + 1])) p++;
      const auto own_begin = static_cast<uint64_t>(src_.first[p]);
      const uint64_t own_size = static_cast<uint64_t>(src_.first[p + 1]) - own_begin;
      for (auto key = begin; key != end; ++key) cut += key->src() - own_begin >= own_size;
      begin = end;
    }
    std::copy(scratch.begin(), scratch.end(), keys_.data() + bucket.begin);
    return cut;
  }

  const RawEdges& edges_;
  const NodeNumbering& dst_;
  const NodeNumbering& src_;
  const IdSpan new_src_, new_dst_;
  const size_t num_edges_, threads_;
  HugeArray<Key> keys_;
  HugeArray<uint16_t> lows_;                   // by position: the destination's lower bits
  std::vector<std::vector<uint64_t>> counts_;  // [thread][block] edges
  std::vector<uint32_t> bucket_of_block_;
  std::vector<Bucket> buckets_;
  std::vector<std::vector<uint64_t>> cursors_;  // [thread][bucket] position of its next edge
};

}  // namespace

SortedEdges::SortedEdges(const RawEdges& edges, const NodeNumbering& src,
                         const NodeNumbering& dst) {
  const auto sort = [&]<class Key>(HugeArray<Key>& keys) {
    EdgeSorter<Key> sorter(edges, src, dst);
    sorter.Sort(offsets_, edge_cut_);
    keys = sorter.TakeKeys();
  };
  if (src.new_ids.dtype() == DType::kUInt32 && edges.count() <= int64_t{UINT32_MAX}) {
    sort(narrow_);
  } else {
    sort(wide_);
  }
}

}  // namespace graphd
