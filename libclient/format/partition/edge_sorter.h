// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/huge_array.h"
#include "base/threads/run_threads.h"

namespace graphd {

// Sorts in two steps, each on all threads: first, edges are written to the buckets of their
// destinations, in the order of their ids (there are so few buckets that the writes make good use
// of the cache); then each bucket, which fits into the cache, is sorted by destination and key.
//
// Source has the edges:
//   size_t size() const, size_t num_nodes() const    edges and destinations
//   ForEachNode(begin, end, f) const                 calls f(destination) for the edges of a range
//   ForEachEdge(begin, end, f) const                 calls f(key, destination) likewise
// Its functions are called by several threads at once.
template <class Key, class Source>
class EdgeSorter {
 public:
  explicit EdgeSorter(const Source& source)
      : source_(source),
        num_edges_(source.size()),
        num_nodes_(source.num_nodes()),
        threads_(num_edges_ < kBucketEdges ? 1 : UsefulThreads()),
        keys_(num_edges_, "the edges in their order"),
        lows_(num_edges_, "the edges' destinations") {}

  // Sorts the edges. Sets offsets[node] to the position of the node's first edge; the last offset
  // is the number of edges.
  void Sort(std::vector<uint64_t>& offsets) {
    CountBlocks();
    FormBuckets();
    RunThreads(threads_, [&](size_t thread) { Scatter(thread); });
    offsets.resize(num_nodes_ + 1);
    offsets[num_nodes_] = num_edges_;
    std::atomic<size_t> next{0};
    RunThreads(threads_, [&](size_t) {
      std::vector<Key> scratch;
      for (size_t b = next++; b < buckets_.size(); b = next++) {
        SortBucket(buckets_[b], scratch, offsets);
      }
    });
  }

  HugeArray<Key> TakeKeys() { return std::move(keys_); }

 private:
  // Edges are counted for blocks of destinations; there are so few blocks that their counters fit
  // into the cache. Blocks are joined into buckets, which are so small that their edges fit into
  // the cache. A bucket has at most 65536 destinations, so the lower 16 bits of a destination
  // identify it within the bucket.
  static constexpr size_t kBlockNodes = 64;
  static constexpr size_t kBucketBlocks = 1024;
  static constexpr uint64_t kBucketEdges = uint64_t{1} << 17;

  struct Bucket {
    size_t first_node, end_node;
    uint64_t begin, end;  // edges
  };

  // Returns the first edge of a thread's share. The shares are consecutive, in the order of the
  // threads.
  size_t Begin(size_t thread) const { return num_edges_ * thread / threads_; }

  void CountBlocks() {
    counts_.assign(threads_, std::vector<uint64_t>(num_nodes_ / kBlockNodes + 1));
    RunThreads(threads_, [&](size_t thread) {
      std::vector<uint64_t>& counts = counts_[thread];
      source_.ForEachNode(Begin(thread), Begin(thread + 1),
                          [&](uint64_t node) { counts[node / kBlockNodes]++; });
    });
  }

  // Joins blocks into buckets, and computes where each thread's edges begin in each bucket.
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
      bucket.end_node = std::min(block * kBlockNodes, num_nodes_);
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
    source_.ForEachEdge(Begin(thread), Begin(thread + 1), [&](const Key& key, uint64_t node) {
      const uint32_t bucket = bucket_of_block_[node / kBlockNodes];
      const uint64_t at = cursors[bucket]++;
      keys_[at] = key;
      lows_[at] = static_cast<uint16_t>(node);
    });
  }

  void SortBucket(const Bucket& bucket, std::vector<Key>& scratch, std::vector<uint64_t>& offsets) {
    const size_t nodes = bucket.end_node - bucket.first_node;
    const auto first_low = static_cast<uint16_t>(bucket.first_node);
    const auto node_at = [&](uint64_t i) { return static_cast<uint16_t>(lows_[i] - first_low); };
    std::vector<uint64_t> next(nodes + 1, 0);
    for (uint64_t i = bucket.begin; i < bucket.end; i++) next[node_at(i) + size_t{1}]++;
    for (size_t v = 0; v < nodes; v++) next[v + 1] += next[v];
    for (size_t v = 0; v < nodes; v++) offsets[bucket.first_node + v] = bucket.begin + next[v];
    scratch.resize(bucket.end - bucket.begin);
    for (uint64_t i = bucket.begin; i < bucket.end; i++) scratch[next[node_at(i)]++] = keys_[i];

    auto begin = scratch.begin();
    for (size_t v = 0; v < nodes; v++) {
      const auto end = scratch.begin() + static_cast<std::ptrdiff_t>(next[v]);
      std::sort(begin, end);
      begin = end;
    }
    std::copy(scratch.begin(), scratch.end(), keys_.data() + bucket.begin);
  }

  const Source& source_;
  const size_t num_edges_, num_nodes_, threads_;
  HugeArray<Key> keys_;
  HugeArray<uint16_t> lows_;                   // by position: the destination's lower bits
  std::vector<std::vector<uint64_t>> counts_;  // [thread][block] edges
  std::vector<uint32_t> bucket_of_block_;
  std::vector<Bucket> buckets_;
  std::vector<std::vector<uint64_t>> cursors_;  // [thread][bucket] position of its next edge
};

}  // namespace graphd
