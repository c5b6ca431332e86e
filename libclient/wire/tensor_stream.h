// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <capnp/serialize-async.h>
#include <kj/async-io.h>

#include <unordered_map>

#include "wire/buffer_pool.h"

// The MessageStream under every graphd connection. It does two things that Cap'n Proto 0.9's own
// does not:
//  - messages are received into pooled buffers on huge pages, so that large ones cause no page
//    faults; the buffer goes back to the pool with the message's reader;
//  - buffers that a message refers to without a copy (Orphanage::referenceExternalData) are given
//    back when the message has been *written*. Attaching them to the method's promise would give
//    them back before: the call is done when its answer is queued, not when it is sent.

namespace graphd {

// Belongs to one thread: that of its event loop.
class TensorStream final : public capnp::MessageStream {
 public:
  // `capability_stream` is `stream` again if it can pass descriptors, else null. Messages of more
  // than `max_message_bytes` end the connection before anything is allocated.
  TensorStream(kj::AsyncIoStream& stream, kj::AsyncCapabilityStream* capability_stream,
               std::shared_ptr<BufferPool> pool, size_t max_message_bytes);

  // Keeps `buffer` until the message that holds a segment beginning at buffer.data() was written,
  // or the stream dies.
  void ReleaseWhenWritten(PooledBuffer buffer);
  size_t pinned_buffers() const noexcept { return pinned_.size(); }

  kj::Promise<kj::Maybe<capnp::MessageReaderAndFds>> tryReadMessage(
      kj::ArrayPtr<kj::AutoCloseFd> fd_space, capnp::ReaderOptions options,
      kj::ArrayPtr<capnp::word> scratch) override;
  kj::Promise<void> writeMessage(
      kj::ArrayPtr<const int> fds,
      kj::ArrayPtr<const kj::ArrayPtr<const capnp::word>> segments) override;
  kj::Promise<void> writeMessages(
      kj::ArrayPtr<kj::ArrayPtr<const kj::ArrayPtr<const capnp::word>>> messages) override;
  kj::Maybe<int> getSendBufferSize() override;
  kj::Promise<void> end() override;

 private:
  struct Incoming;
  using Segments = kj::ArrayPtr<const kj::ArrayPtr<const capnp::word>>;
  void TakePinned(Segments segments, kj::Vector<PooledBuffer>& taken);
  kj::Promise<size_t> ReadHead(void* to, kj::ArrayPtr<kj::AutoCloseFd> fd_space, size_t* num_fds);

  kj::AsyncIoStream& stream_;
  kj::AsyncCapabilityStream* capability_stream_;
  std::shared_ptr<BufferPool> pool_;
  size_t max_message_bytes_;
  std::unordered_map<const void*, PooledBuffer> pinned_;
};

}  // namespace graphd
