// SPDX-License-Identifier: Apache-2.0
#include "format/external/edge_merge.h"

#include <unistd.h>

#include <algorithm>
#include <cstring>

namespace graphd {

// A sorted list in the file and its first edge that has not been merged yet.
class EdgeMerge::Reader {
 public:
  Reader(const EdgeMerge& merge, uint64_t begin, uint64_t end, uint64_t records)
      : merge_(merge),
        width_(sizeof(MergedEdge) + merge.row_bytes_),
        next_(begin),
        end_(end),
        most_(records * width_) {
    Advance();
  }
  bool done() const noexcept { return done_; }
  const MergedEdge& edge() const noexcept { return edge_; }
  std::span<const std::byte> row() const {
    return std::span(buffer_).subspan(at_ + sizeof(MergedEdge), merge_.row_bytes_);
  }
  void Advance() {
    at_ += width_;
    if (at_ >= buffer_.size()) {
      if (next_ == end_) {
        done_ = true;
        return;
      }
      buffer_.resize(std::min(most_, end_ - next_));
      ReadExactly(merge_.file_.fd(), next_, buffer_, merge_.file_.path());
      next_ += buffer_.size();
      at_ = 0;
    }
    std::memcpy(&edge_, buffer_.data() + at_, sizeof edge_);
  }

 private:
  const EdgeMerge& merge_;
  const size_t width_;
  uint64_t next_;  // the offset of what is read next
  const uint64_t end_, most_;
  std::vector<std::byte> buffer_;
  size_t at_ = 0;
  MergedEdge edge_;
  bool done_ = false;
};

EdgeMerge::EdgeMerge(const std::string& path, size_t row_bytes)
    : row_bytes_(row_bytes), file_(path) {}

EdgeMerge::~EdgeMerge() { ::unlink(file_.path().c_str()); }

void EdgeMerge::BeginPart() { begins_.push_back(file_.size()); }

void EdgeMerge::Add(const MergedEdge& edge, std::span<const std::byte> row) {
  file_.Append(std::as_bytes(std::span(&edge, 1)));
  file_.Append(row);
}

void EdgeMerge::ForEach(
    uint64_t memory, const std::function<void(const MergedEdge&, std::span<const std::byte>)>& f) {
  file_.Flush();
  const uint64_t width = sizeof(MergedEdge) + row_bytes_;
  const uint64_t records =
      std::max<uint64_t>(1, memory / width / std::max<size_t>(begins_.size(), 1));
  std::vector<Reader> readers;
  readers.reserve(begins_.size());
  for (size_t i = 0; i < begins_.size(); i++) {
    const uint64_t end = i + 1 < begins_.size() ? begins_[i + 1] : file_.size();
    readers.emplace_back(*this, begins_[i], end, records);
  }
  std::vector<Reader*> heap;
  for (Reader& reader : readers) {
    if (!reader.done()) heap.push_back(&reader);
  }
  const auto later = [](const Reader* a, const Reader* b) { return b->edge() < a->edge(); };
  std::make_heap(heap.begin(), heap.end(), later);
  while (!heap.empty()) {
    std::pop_heap(heap.begin(), heap.end(), later);
    Reader* first = heap.back();
    f(first->edge(), first->row());
    first->Advance();
    if (first->done()) {
      heap.pop_back();
    } else {
      std::push_heap(heap.begin(), heap.end(), later);
    }
  }
}

}  // namespace graphd
