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
#include "wire/loop_turns.h"
#include "wire/memory/buffer_pool.h"

// The MessageStream under every connection of graphd. It does three things that Cap'n Proto 0.9's
// own MessageStream does not:
//  - It receives messages into pooled buffers on huge pages, so that large ones cause no page
//    faults. A buffer returns to the pool with the reader of its message.
//  - It keeps buffers to which a message refers without a copy
//    (Orphanage::referenceExternalData) until the message has been written. If they were attached
//    to the method's promise, they would be released earlier: the call completes when its answer
//    is queued, not when it is sent.
//  - It has room for the descriptors of a message once, not with each message. To make this room
//    and to clear it took a fifth of a daemon's instructions for a small request, and a tenth of a
//    client's.

namespace graphd {

// The data that a connection has yet to send: buffers to which its messages refer, and room that
// running requests have reserved. Calls that are still running when the peer disconnects may keep
// the outbox for longer than the stream lives. Not thread-safe: it belongs to the thread of the
// stream's event loop, except for Room's destructor.
class Outbox : public std::enable_shared_from_this<Outbox> {
 public:
  explicit Outbox(size_t max_bytes) : max_bytes_(max_bytes) {}

  // Reserved room for a part of an answer. It is released when this object is destroyed.
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
    // Splits off `bytes`, or all that is left if that is less. An answer of several parts reserves
    // its room once and splits it, so that no part is sent when there is no room for the next.
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

  // Keeps `buffer` and its room until the message that has a segment which begins at buffer.data()
  // has been written, or until the connection is closed. Throws Error(kUnavailable) if it is closed
  // already.
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

// The received messages that are still being read. Belongs to the thread of the stream's event
// loop. Calls that are still running may keep it for longer than the stream lives.
class Inbox {
 public:
  // Returns a pointer that keeps the message alive to which these bytes belong. Returns null if
  // that message is not large, or if the bytes are a small part of it. The caller must then copy
  // the bytes.
  std::shared_ptr<const void> Keep(const void* address, size_t bytes) const;

 private:
  friend class TensorStream;
  friend class PooledReader;
  std::map<const void*, std::weak_ptr<PooledBuffer>> messages_;  // by address of their first byte
};

// Returns the number of words that a reader may visit in a message of `bytes` bytes. Cap'n Proto
// also counts each element of a list as a word, because empty elements take no space: a message of
// a few words can claim 2^29 of them, which would take time and memory to read.
uint64_t VisitLimit(size_t bytes);

// The message stream of one connection. Belongs to the thread of its event loop.
//
// A server limits what a peer can make it keep: while an answer waits to be written, because the
// peer does not read, only a few more messages are read. Until the peer is admitted, messages must
// be small, too. Descriptors that a peer sends are never taken, because no call has any. A client
// has no such limits: if both ends stopped reading, neither could write, and answers do have
// descriptors.
// Both ends refuse to visit more than VisitLimit() words of a message.
class TensorStream final : public capnp::MessageStream {
 public:
  // `capability_stream` is `stream` itself if it can pass descriptors, and otherwise null. If the
  // peer sends a message of more than `max_message_bytes`, the connection is closed before anything
  // is allocated for the message.
  TensorStream(kj::AsyncIoStream& stream, kj::AsyncCapabilityStream* capability_stream,
               std::shared_ptr<BufferPool> pool, size_t max_message_bytes, size_t max_unsent_bytes,
               bool is_server);
  ~TensorStream() noexcept(false);

  // Charges what is read from now on to an account. While the account is nearly used up, nothing is
  // read, so that the rest of its fair share is left for the answers to running requests. Call this
  // before anything is read. `timer` belongs to the event loop of the stream's thread.
  void SetMemory(std::shared_ptr<MemoryAccount> account, kj::Timer& timer);
  // Replaces a server's limits for unattached clients by those for attached clients. Replaces the
  // account, too, if `account` is not null.
  void Admit(std::shared_ptr<MemoryAccount> account);
  // Makes messages that are received from now on, and long answers, take turns with those of other
  // jobs on the event loop.
  void TakeTurns(LoopTurns& turns, const JobShare& job);
  // Returns the pool into whose buffers the stream reads messages. Its memory is charged to the
  // stream's account.
  const std::shared_ptr<BufferPool>& buffers() const noexcept { return pool_; }
  // Returns for how long the peer has not read the answer that is being written, without the time
  // that its earlier turns have taken to come; zero if no answer is being written.
  Clock::duration StalledFor() const noexcept {
    return writes_ == 0 ? Clock::duration::zero() : Clock::now() - write_began_;
  }

  // The longest message of a peer that is not admitted yet.
  static constexpr size_t kMaxUnattachedMessage = size_t{64} << 10;
  // The number of messages that a server still reads while an answer waits to be written, before
  // and after admission.
  static constexpr size_t kUnattachedReadAhead = 16;
  static constexpr size_t kReadAhead = 256;
  // The longest message that is always read from a peer with nothing charged to its account, even
  // if others have used up the memory: the others may be waiting for something that depends on it.
  static constexpr size_t kAlwaysRead = size_t{256} << 10;
  // The largest number of calls that a server may have received and the peer has not finished (by
  // the message Finish), before and after admission. Until a call is finished, the server keeps an
  // entry in its table of answers.
  static constexpr int64_t kUnattachedUnfinished = 1024;
  static constexpr int64_t kMaxUnfinished = 65536;

  const std::shared_ptr<Outbox>& outbox() const noexcept { return outbox_; }
  const std::shared_ptr<Inbox>& inbox() const noexcept { return inbox_; }

  // Uses neither `fd_space` nor `scratch`: descriptors belong to the returned reader. (A debug
  // build of Cap'n Proto may assert that they are in `fd_space`.)
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
  // Reads the first words of a message: the number of its segments and the size of the first.
  kj::Promise<size_t> ReadHead(Incoming& in);
  // Reads the rest of a message whose head and table of sizes have been read, when it is its turn.
  kj::Promise<MaybeMessage> ReadInTurn(Incoming& in, capnp::ReaderOptions options);
  // Waits until MayRead, and calls ReadWords.
  kj::Promise<MaybeMessage> ReadWhenThereIsMemory(Incoming& in, capnp::ReaderOptions options);
  // Reads the words that follow the message's head.
  kj::Promise<MaybeMessage> ReadWords(Incoming& in, capnp::ReaderOptions options);
  void CountCall(capnp::MessageReader& message);
  using Segments = kj::ArrayPtr<const kj::ArrayPtr<const capnp::word>>;
  void TakePinned(Segments segments, kj::Vector<Outbox::Pinned>& taken);
  kj::Promise<void> CountWrite(kj::Promise<void> written);
  template <class Write>
  kj::Promise<void> WriteInTurns(size_t bytes, Write write);

  kj::AsyncIoStream& stream_;
  kj::AsyncCapabilityStream* capability_stream_;
  // The room for the descriptors of a message; a server has none. If a read is cancelled, it keeps
  // those that came with a part of the head.
  kj::Array<kj::AutoCloseFd> descriptors_;
  std::shared_ptr<BufferPool> pool_;
  kj::Timer* timer_ = nullptr;  // set with the pool's account
  LoopTurns* turns_ = nullptr;
  JobShare share_;  // set with turns_
  const size_t max_message_bytes_;
  const uint32_t max_segments_;
  size_t admitted_message_bytes_, read_ahead_;
  int64_t unfinished_ = 0, max_unfinished_;
  size_t writes_ = 0;  // writes under way, for which the next answer waits
  Clock::time_point write_began_;
  size_t read_meanwhile_ = 0;  // messages read since the last time that no answer waited
  kj::Maybe<kj::Own<kj::PromiseFulfiller<void>>> paused_;  // fulfilled to continue reading
  kj::Promise<void> continuing_ = nullptr;
  std::shared_ptr<Outbox> outbox_;
  std::shared_ptr<Inbox> inbox_;
};

}  // namespace graphd
