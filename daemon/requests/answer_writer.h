// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <capnp/blob.h>
#include <capnp/orphan.h>

#include <cstddef>
#include <cstring>
#include <functional>
#include <utility>

#include "wire/memory/buffer_pool.h"
#include "wire/tensor_stream.h"

namespace graphd {

// Returns an orphan of the first `bytes` of the buffer, which the message sends without a copy.
inline capnp::Orphan<capnp::Data> AdoptBuffer(Outbox& outbox, capnp::Orphanage orphanage,
                                              PooledBuffer buffer, size_t bytes,
                                              Outbox::Room room) {
  if (bytes == 0) return orphanage.newOrphan<capnp::Data>(0);
  // The message sends whole words: the bytes after the last one must not be data of another client.
  std::memset(buffer.data() + bytes, 0, (8 - bytes % 8) % 8);
  const auto* data = reinterpret_cast<const kj::byte*>(buffer.data());
  outbox.ReleaseWhenWritten(std::move(buffer), std::move(room));
  return orphanage.referenceExternalData(capnp::Data::Reader(data, bytes));
}

// An array of an answer that is assembled in a pooled buffer. A large array then goes into the
// message by reference, and counts as unread until the client has received it; a small array is
// copied. Used by one thread at a time, with one exception: several threads may write different
// bytes behind next(), as long as no thread calls another method meanwhile.
class AnswerWriter {
 public:
  // Arrays up to this size are copied into the message, which is cheaper than a segment of their
  // own.
  static constexpr size_t kCopyBytes = size_t{16} << 10;
  // Returns an orphan of the first bytes of a pooled buffer.
  using Send = std::function<capnp::Orphan<capnp::Data>(PooledBuffer, size_t)>;

  AnswerWriter(BufferPool& pool, size_t bytes) : buffer_(pool.Get(bytes + 8)), bytes_(bytes) {}
  size_t bytes() const noexcept { return bytes_; }
  std::byte* next() noexcept { return buffer_.data() + at_; }
  void Advance(size_t bytes) noexcept { at_ += bytes; }
  void Append(const void* from, size_t bytes) {
    if (bytes > 0) std::memcpy(next(), from, bytes);
    Advance(bytes);
  }
  // Returns whether Finish copies the array.
  bool is_small() const noexcept { return bytes_ <= kCopyBytes; }
  // Puts the array into the message: init(size) makes Data in the message to copy to, adopt(orphan)
  // takes Data by reference. One of them is called, or neither if there are no bytes.
  template <class Init, class Adopt>
  void Finish(Init&& init, Adopt&& adopt, const Send& send) && {
    if (!is_small()) return adopt(send(std::move(buffer_), bytes_));
    if (bytes_ > 0)
      std::memcpy(init(static_cast<kj::uint>(bytes_)).begin(), buffer_.data(), bytes_);
  }

 private:
  friend class AnswerArrays;
  PooledBuffer buffer_;
  size_t bytes_, at_ = 0;
};

// Puts any number of arrays into one answer. The message itself is memory that is charged to nobody
// while the client does not read it, so only the first small arrays are copied into it. Further
// ones are joined in pooled buffers, which the message sends by reference.
class AnswerArrays {
 public:
  // The maximum number of bytes that are copied into the message.
  static constexpr size_t kMaxCopied = size_t{128} << 10;

  AnswerArrays(BufferPool& pool, capnp::Orphanage orphanage, const AnswerWriter::Send& send)
      : pool_(pool), orphanage_(orphanage), send_(send) {}

  // Does what AnswerWriter::Finish does.
  template <class Init, class Adopt>
  void Put(AnswerWriter&& array, Init&& init, Adopt&& adopt) {
    if (array.is_small() && array.bytes() > 0 && (copied_ += array.bytes()) > kMaxCopied) {
      return adopt(Join(std::move(array)));
    }
    std::move(array).Finish(init, adopt, send_);
  }

 private:
  static constexpr size_t kJoinedBytes = size_t{256} << 10;

  capnp::Orphan<capnp::Data> Join(AnswerWriter array) {
    const size_t bytes = array.bytes_, whole = (bytes + 7) / 8 * 8;
    std::byte* const to = next_;
    if (whole > left_) {
      // If the account refused it here, the buffers that are in the message already would be kept
      // as long as the connection. Each array has had a buffer of its own, which is returned now.
      PooledBuffer buffer = pool_.GetAnyway(kJoinedBytes);
      next_ = buffer.data() + whole;
      left_ = buffer.capacity() - whole;
      std::memcpy(buffer.data(), array.buffer_.data(), bytes);
      // The first array keeps the buffer until the message, and with it every array, is written.
      return send_(std::move(buffer), bytes);
    }
    next_ += whole;
    left_ -= whole;
    std::memcpy(to, array.buffer_.data(), bytes);
    std::memset(to + bytes, 0, whole - bytes);
    return orphanage_.referenceExternalData(
        capnp::Data::Reader(reinterpret_cast<const kj::byte*>(to), bytes));
  }

  BufferPool& pool_;
  const capnp::Orphanage orphanage_;
  const AnswerWriter::Send& send_;
  size_t copied_ = 0;
  std::byte* next_ = nullptr;  // the free part of the last buffer
  size_t left_ = 0;
};

}  // namespace graphd
