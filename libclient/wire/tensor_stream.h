// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <capnp/serialize-async.h>
#include <kj/async-io.h>
#include <kj/timer.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <memory>
#include <unordered_map>
#include <utility>

#include "base/clock.h"
#include "wire/buffer_pool.h"

// The MessageStream under every graphd connection. It does two things that Cap'n Proto 0.9's
// MessageStream does not:
//  - messages are received into pooled buffers on huge pages, so that large ones cause no page
//    faults; the buffer returns to the pool with the message's reader;
//  - buffers that a message refers to without a copy (Orphanage::referenceExternalData) are
//    released when the message has been *written*. Attaching them to the method's promise would
//    release them earlier: the call completes when its answer is queued, not when it is sent.

namespace graphd {

// The data that a connection has yet to send: buffers that its messages refer to, and room that
// running requests have reserved. Calls that are still running when the peer disconnects may keep
// the outbox for longer than the stream lives. Not thread-safe: it belongs to the thread of the
// stream's event loop, except for Room's destructor.
class Outbox : public std::enable_shared_from_this<Outbox> {
 public:
  explicit Outbox(size_t max_bytes) : max_bytes_(max_bytes) {}

  // Reserved room for a part of an answer; released when destroyed.
  class Room {
   public:
    Room() = default;
    Room(Room&& o) noexcept : outbox_(std::move(o.outbox_)), bytes_(std::exchange(o.bytes_, 0)) {}
    Room& operator=(Room&& o) noexcept {
      std::swap(outbox_, o.outbox_);
      std::swap(bytes_, o.bytes_);
      return *this;
    }
    ~Room() {
      if (outbox_) outbox_->bytes_ -= bytes_;
    }
    // Splits off `bytes`, or what is left if that is less: an answer of several parts reserves its
    // room once, so that no part is sent when there is no room for the next.
    Room Take(size_t bytes) noexcept {
      bytes = std::min(bytes, bytes_);
      bytes_ -= bytes;
      return Room(outbox_, bytes);
    }

   private:
    friend class Outbox;
    Room(std::shared_ptr<Outbox> outbox, size_t bytes)
        : outbox_(std::move(outbox)), bytes_(bytes) {}
    std::shared_ptr<Outbox> outbox_;
    size_t bytes_ = 0;
  };
  // Reserves room. Throws Error(kOverloaded) if the peer has left too many bytes unread.
  Room Reserve(size_t bytes);

  // Keeps `buffer` (and its room) until the message with a segment that begins at buffer.data() has
  // been written, or the connection is closed. Throws Error(kUnavailable) if it is closed already.
  void ReleaseWhenWritten(PooledBuffer buffer, Room room);

  size_t bytes() const noexcept { return bytes_; }

 private:
  friend class TensorStream;
  struct Pinned {
    PooledBuffer buffer;
    Room room;
  };
  size_t max_bytes_;
  std::atomic<size_t> bytes_{0};  // a computing thread may release room
  bool open_ = true;
  std::unordered_map<const void*, Pinned> pinned_;
};

// Received messages that are still being read. Belongs to the thread of the stream's event loop.
// Calls that are still running may hold it longer than the stream lives.
class Inbox {
 public:
  // Returns a pointer that keeps alive the message with these bytes. Returns null if that message
  // is not large or the bytes are a small part of it; the caller must then copy the bytes.
  std::shared_ptr<const void> Keep(const void* address, size_t bytes) const;

 private:
  friend class TensorStream;
  friend class PooledReader;
  std::map<const void*, std::weak_ptr<PooledBuffer>> messages_;  // by address of their first byte
};

// Returns the number of words that may be visited in a message of `bytes` bytes. Cap'n Proto counts
// each element of a list, because empty elements take no space: a message of a few words can claim
// 2^29 of them, which would take time and memory to read.
uint64_t VisitLimit(size_t bytes);

// The message stream of one connection. Belongs to the thread of its event loop.
//
// A server limits what a peer can make it keep: while an answer waits to be written, because the
// peer does not read, only a few more messages are read. Until the peer is admitted, messages must
// be small, too. A client has no such limits: if both ends stopped reading, neither could write.
// Both ends refuse to visit more than VisitLimit() words of a message.
class TensorStream final : public capnp::MessageStream {
 public:
  // `capability_stream` is `stream` again if it can pass descriptors, else null. A message of more
  // than `max_message_bytes` closes the connection before anything is allocated.
  TensorStream(kj::AsyncIoStream& stream, kj::AsyncCapabilityStream* capability_stream,
               std::shared_ptr<BufferPool> pool, size_t max_message_bytes, size_t max_unsent_bytes,
               bool is_server);
  ~TensorStream() noexcept(false);

  // Charges what is read from now on to an account. While the account is nearly used up, nothing is
  // read, so that the rest of its fair share is left for the answers to running requests. Call
  // before anything is read. `timer` belongs to the thread of the event loop.
  void SetMemory(std::shared_ptr<MemoryAccount> account, kj::Timer& timer);
  // Replaces a server's limits for unattached clients by those for attached ones, and the account
  // if there is one.
  void Admit(std::shared_ptr<MemoryAccount> account);
  // Returns the pool into whose buffers the stream reads messages. Its memory is charged to the
  // stream's account.
  const std::shared_ptr<BufferPool>& buffers() const noexcept { return pool_; }
  // Returns for how long an answer has been waiting to be written; zero if none is.
  Clock::duration StalledFor() const noexcept {
    return writes_ == 0 ? Clock::duration::zero() : Clock::now() - write_began_;
  }

  // The longest message of a peer that is not admitted yet.
  static constexpr size_t kMaxUnattachedMessage = size_t{64} << 10;
  // The number of messages that are read while an answer waits to be written, before and after
  // admission.
  static constexpr size_t kUnattachedReadAhead = 16;
  static constexpr size_t kReadAhead = 256;
  // The longest message that is read from a peer with nothing charged to its account, even if
  // others have used up the memory: they may be waiting for something that depends on the message.
  static constexpr size_t kAlwaysRead = size_t{256} << 10;
  // The largest number of calls that a server has received and the peer has not finished, before
  // and after admission. An answer's entry in the table of answers is kept until the peer has
  // finished the call.
  static constexpr int64_t kUnattachedUnfinished = 1024;
  static constexpr int64_t kMaxUnfinished = 65536;

  const std::shared_ptr<Outbox>& outbox() const noexcept { return outbox_; }
  const std::shared_ptr<Inbox>& inbox() const noexcept { return inbox_; }

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
  using MaybeMessage = kj::Maybe<capnp::MessageReaderAndFds>;
  // Returns whether there is memory to read a message. Throws Error(kOverloaded) if there never
  // will be.
  bool MayRead(size_t bytes) const;
  kj::Promise<void> AwaitMemory(size_t bytes);
  // Reads the words that follow the message's head.
  kj::Promise<MaybeMessage> ReadWords(Incoming& in, capnp::ReaderOptions options,
                                      kj::ArrayPtr<kj::AutoCloseFd> fd_space);
  void CountCall(capnp::MessageReader& message);
  using Segments = kj::ArrayPtr<const kj::ArrayPtr<const capnp::word>>;
  void TakePinned(Segments segments, kj::Vector<Outbox::Pinned>& taken);
  kj::Promise<void> CountWrite(kj::Promise<void> written);
  kj::Promise<size_t> ReadHead(void* to, kj::ArrayPtr<kj::AutoCloseFd> fd_space, size_t* num_fds);

  kj::AsyncIoStream& stream_;
  kj::AsyncCapabilityStream* capability_stream_;
  std::shared_ptr<BufferPool> pool_;
  kj::Timer* timer_ = nullptr;  // set with the pool's account
  const size_t max_message_bytes_;
  size_t admitted_message_bytes_, read_ahead_;
  int64_t unfinished_ = 0, max_unfinished_;
  size_t writes_ = 0;  // writes under way; the next answer waits for them
  Clock::time_point write_began_;
  size_t read_meanwhile_ = 0;  // messages read since the last time that no answer waited
  kj::Maybe<kj::Own<kj::PromiseFulfiller<void>>> paused_;  // continues to read
  kj::Promise<void> continuing_ = nullptr;
  std::shared_ptr<Outbox> outbox_;
  std::shared_ptr<Inbox> inbox_;
};

}  // namespace graphd
