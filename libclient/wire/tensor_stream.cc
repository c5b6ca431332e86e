// SPDX-License-Identifier: Apache-2.0
#include "wire/tensor_stream.h"

#include <capnp/rpc.capnp.h>
#include <kj/debug.h>
#include <kj/io.h>
#include <sys/socket.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/strings.h"
#include "tls/secret_handshake.h"
#include "wire/connection.h"

namespace graphd {
namespace {

// The maximum number of segments in a message that a server reads, which is Cap'n Proto's own
// limit, and in one that a client reads: in an answer, each array may be a segment.
constexpr uint32_t kMaxSegments = 512, kMaxAnswerSegments = 8192;

// The first three bytes of a TLS connection, read as a number. They are the header of a handshake
// record with version TLS 1.0, which clients of all versions send. In a message, the number of
// segments is in this place.
constexpr uint32_t kTlsRecord = 0x010316;

constexpr size_t kUnlimited = SIZE_MAX;

// The pause after which a stream that waits for memory tries again.
constexpr auto kMemoryPause = 10 * kj::MILLISECONDS;

// It is cheaper to copy data from messages smaller than this than to keep the messages.
constexpr size_t kKeptBytes = size_t{16} << 10;

size_t BytesOf(kj::ArrayPtr<const kj::ArrayPtr<const capnp::word>> segments) {
  size_t words = 0;
  for (const auto& segment : segments) words += segment.size();
  return words * sizeof(capnp::word);
}

}  // namespace

uint64_t VisitLimit(size_t bytes) {
  constexpr uint64_t kAlways = uint64_t{64} << 10, kPerWord = 64;
  return kAlways + bytes / sizeof(capnp::word) * kPerWord;
}

// A message in one pooled buffer.
class PooledReader final : public capnp::MessageReader {
 public:
  PooledReader(capnp::ReaderOptions limits, std::shared_ptr<PooledBuffer> buffer,
               kj::Array<kj::ArrayPtr<const capnp::word>> segments,
               kj::Array<kj::AutoCloseFd> descriptors, std::shared_ptr<Inbox> inbox)
      : MessageReader(limits),
        buffer_(std::move(buffer)),
        segments_(kj::mv(segments)),
        descriptors_(kj::mv(descriptors)),
        inbox_(std::move(inbox)) {
    if (inbox_) inbox_->messages_.insert_or_assign(buffer_->data(), buffer_);
  }
  ~PooledReader() {
    if (inbox_) inbox_->messages_.erase(buffer_->data());
  }

  kj::ArrayPtr<const capnp::word> getSegment(kj::uint id) override {
    return id < segments_.size() ? segments_[id] : nullptr;
  }
  kj::ArrayPtr<kj::AutoCloseFd> descriptors() { return descriptors_; }

 private:
  std::shared_ptr<PooledBuffer> buffer_;
  kj::Array<kj::ArrayPtr<const capnp::word>> segments_;
  kj::Array<kj::AutoCloseFd> descriptors_;
  std::shared_ptr<Inbox> inbox_;  // null: a small message
};

std::shared_ptr<const void> Inbox::Keep(const void* address, size_t bytes) const {
  auto found = messages_.upper_bound(address);
  if (found == messages_.begin()) return nullptr;
  std::shared_ptr<PooledBuffer> buffer = std::prev(found)->second.lock();
  const auto* at = static_cast<const std::byte*>(address);
  // Data that waits is charged by its own bytes only, so it must not keep a much larger message
  // alive.
  const bool kept =
      buffer && at < buffer->data() + buffer->capacity() && bytes >= buffer->capacity() / 4;
  return kept ? buffer : nullptr;
}

// A message while it is received: first the head (number of segments, size of the first one), then
// the rest of the table of sizes, and then the words.
struct TensorStream::Incoming {
  uint32_t head[2] = {0, 0};
  kj::Array<uint32_t> table;
  size_t bytes = 0;
  kj::Array<kj::AutoCloseFd> descriptors;
  kj::Own<PooledReader> reader;
};

TensorStream::TensorStream(kj::AsyncIoStream& stream, kj::AsyncCapabilityStream* capability_stream,
                           std::shared_ptr<BufferPool> pool, size_t max_message_bytes,
                           size_t max_unsent_bytes, bool is_server)
    : stream_(stream),
      capability_stream_(capability_stream),
      descriptors_(kj::heapArray<kj::AutoCloseFd>(
          capability_stream == nullptr || is_server ? 0 : kMaxDescriptors)),
      pool_(std::move(pool)),
      max_message_bytes_(max_message_bytes),
      max_segments_(is_server ? kMaxSegments : kMaxAnswerSegments),
      admitted_message_bytes_(is_server ? kMaxUnattachedMessage : max_message_bytes),
      read_ahead_(is_server ? kUnattachedReadAhead : kUnlimited),
      max_unfinished_(is_server ? kUnattachedUnfinished : INT64_MAX),
      outbox_(std::make_shared<Outbox>(max_unsent_bytes)),
      inbox_(std::make_shared<Inbox>()) {}

TensorStream::~TensorStream() noexcept(false) {
  outbox_->open_ = false;
  outbox_->pinned_.clear();
}

void TensorStream::SetMemory(std::shared_ptr<MemoryAccount> account, kj::Timer& timer) {
  pool_ = pool_->ChargedTo(std::move(account));
  timer_ = &timer;
}

void TensorStream::Admit(std::shared_ptr<MemoryAccount> account) {
  if (account) pool_ = pool_->ChargedTo(std::move(account));
  admitted_message_bytes_ = max_message_bytes_;
  read_ahead_ = kReadAhead;
  max_unfinished_ = kMaxUnfinished;
}

void TensorStream::TakeTurns(LoopTurns& turns, const JobShare& job) {
  turns_ = &turns;
  share_ = job;
}

bool TensorStream::MayRead(size_t bytes) const {
  MemoryAccount* account = pool_->account().get();
  if (account == nullptr || account->CanTake(bytes, 0.75)) return true;
  if (!account->CouldEverTake(bytes)) account->Refuse(bytes);
  return account->used() == 0 && (bytes <= kAlwaysRead || account->CanTake(bytes, 1));
}

kj::Promise<TensorStream::MaybeMessage> TensorStream::ReadWhenThereIsMemory(
    Incoming& in, capnp::ReaderOptions options) {
  // ReadWords takes the memory in the same event in which MayRead has looked for it.
  if (AsKj([&] { return MayRead(in.bytes); })) return ReadWords(in, options);
  return timer_->afterDelay(kMemoryPause).then([this, &in, options] {
    return ReadWhenThereIsMemory(in, options);
  });
}

void TensorStream::CountCall(capnp::MessageReader& message) {
  switch (message.getRoot<capnp::rpc::Message>().which()) {
    case capnp::rpc::Message::CALL:
    case capnp::rpc::Message::BOOTSTRAP:
      unfinished_++;
      break;
    case capnp::rpc::Message::FINISH:
      unfinished_--;
      break;
    default:
      break;
  }
  if (unfinished_ <= max_unfinished_) return;
  kj::throwFatalException(ToKj(Error(
      ErrorCode::kOverloaded, StrCat("this client has ", max_unfinished_,
                                     " calls that it has not finished (rpc.capnp: Finish); release "
                                     "answers when they have been read"))));
}

Outbox::Room Outbox::Reserve(size_t bytes) {
  if (bytes_ + bytes > max_bytes_) {
    Throw(ErrorCode::kOverloaded, "answers of ", HumanBytes(bytes_),
          " wait to be read by this client, ", HumanBytes(bytes), " more would exceed ",
          HumanBytes(max_bytes_), "; read answers before asking for more");
  }
  bytes_ += bytes;
  return Room(shared_from_this(), bytes);
}

void Outbox::ReleaseWhenWritten(PooledBuffer buffer, Room room) {
  if (!open_) Throw(ErrorCode::kUnavailable, "the client has disconnected");
  const void* key = buffer.data();
  pinned_.insert_or_assign(key, Pinned{std::move(buffer), std::move(room)});
}

kj::Promise<size_t> TensorStream::ReadHead(Incoming& in) {
  // If a read has no room for descriptors, the kernel closes those that come with the bytes.
  if (descriptors_.size() == 0) return stream_.tryRead(in.head, sizeof in.head, sizeof in.head);
  return capability_stream_
      ->tryReadWithFds(in.head, sizeof in.head, sizeof in.head, descriptors_.begin(),
                       descriptors_.size())
      .then([this, &in](kj::AsyncCapabilityStream::ReadResult result) {
        if (result.capCount > 0) {
          in.descriptors = kj::heapArray<kj::AutoCloseFd>(result.capCount);
          std::move(descriptors_.begin(), descriptors_.begin() + result.capCount,
                    in.descriptors.begin());
        }
        return result.byteCount;
      });
}

kj::Promise<kj::Maybe<capnp::MessageReaderAndFds>> TensorStream::tryReadMessage(
    kj::ArrayPtr<kj::AutoCloseFd>, capnp::ReaderOptions options, kj::ArrayPtr<capnp::word>) {
  using Result = MaybeMessage;
  if (writes_ == 0) read_meanwhile_ = 0;
  if (read_meanwhile_ >= read_ahead_) {
    auto continued = kj::newPromiseAndFulfiller<void>();
    paused_ = kj::mv(continued.fulfiller);
    return continued.promise.then(
        [this, options] { return tryReadMessage(nullptr, options, nullptr); });
  }
  read_meanwhile_++;
  auto incoming = kj::heap<Incoming>();
  Incoming& in = *incoming;
  return ReadHead(in)
      .then([this, options, &in](size_t got) -> kj::Promise<Result> {
        if (got == 0) return Result(nullptr);
        KJ_REQUIRE(got == sizeof in.head, "connection closed in the middle of a message");
        KJ_REQUIRE((in.head[0] & 0xffffff) != kTlsRecord,
                   "the peer speaks TLS, which needs keys here, too (--keys)");
        KJ_REQUIRE(std::memcmp(in.head, kSecretMagic.data(), sizeof in.head) != 0,
                   "the peer has a shared secret, which is needed here, too (--secret)");
        KJ_REQUIRE(in.head[0] < max_segments_, "message with too many segments");
        const uint32_t more = in.head[0];  // segments after the first
        if (more == 0) return ReadInTurn(in, options);
        in.table = kj::heapArray<uint32_t>((more + 1) & ~1u);  // padded to a word
        return stream_.read(in.table.begin(), in.table.size() * sizeof(uint32_t))
            .then([this, options, &in] { return ReadInTurn(in, options); });
      })
      .attach(kj::mv(incoming));
}

kj::Promise<TensorStream::MaybeMessage> TensorStream::ReadInTurn(Incoming& in,
                                                                 capnp::ReaderOptions options) {
  uint64_t words = in.head[1];
  for (uint32_t i = 0; i < in.head[0]; i++) words += in.table[i];
  in.bytes = words * sizeof(capnp::word);
  KJ_REQUIRE(in.bytes <= admitted_message_bytes_, "message exceeds the size limit", in.bytes,
             admitted_message_bytes_);
  if (turns_ == nullptr) return ReadWhenThereIsMemory(in, options);
  return turns_->Run(share_, LoopTurns::kMessageCost + in.bytes,
                     [this, options, &in] { return ReadWhenThereIsMemory(in, options); });
}

kj::Promise<TensorStream::MaybeMessage> TensorStream::ReadWords(Incoming& in,
                                                                capnp::ReaderOptions options) {
  // MayRead() has already decided that the message may be read, so the buffer is not refused.
  auto buffer = std::make_shared<PooledBuffer>(pool_->GetAnyway(in.bytes));
  const uint32_t more = in.head[0];
  auto* at = reinterpret_cast<const capnp::word*>(buffer->data());
  auto segments = kj::heapArray<kj::ArrayPtr<const capnp::word>>(more + 1);
  for (uint32_t i = 0; i <= more; i++) {
    const size_t size = i == 0 ? in.head[1] : in.table[i - 1];
    segments[i] = kj::arrayPtr(at, size);
    at += size;
  }
  std::byte* to = buffer->data();
  options.traversalLimitInWords = std::min(options.traversalLimitInWords, VisitLimit(in.bytes));
  in.reader =
      kj::heap<PooledReader>(options, std::move(buffer), kj::mv(segments), kj::mv(in.descriptors),
                             in.bytes >= kKeptBytes ? inbox_ : nullptr);
  return stream_.read(to, in.bytes).then([this, &in]() mutable -> MaybeMessage {
    if (max_unfinished_ != INT64_MAX) CountCall(*in.reader);
    const auto descriptors = in.reader->descriptors();
    return capnp::MessageReaderAndFds{kj::mv(in.reader), descriptors};
  });
}

void TensorStream::TakePinned(Segments segments, kj::Vector<Outbox::Pinned>& taken) {
  auto& pinned = outbox_->pinned_;
  if (pinned.empty()) return;
  for (const auto& segment : segments) {
    auto found = pinned.find(segment.begin());
    if (found == pinned.end()) continue;
    taken.add(std::move(found->second));
    pinned.erase(found);
  }
}

kj::Promise<void> TensorStream::CountWrite(kj::Promise<void> written) {
  if (read_ahead_ == kUnlimited) return written;
  writes_++;
  write_began_ = Clock::now();
  return written.attach(kj::defer([this] {
    if (--writes_ > 0 || paused_ == nullptr) return;
    // This runs last in the queue, so that the next answer that is queued, if any, begins to be
    // written before it.
    continuing_ = kj::evalLast([this] {
                    KJ_IF_MAYBE (paused, paused_) {
                      if (writes_ > 0) return;
                      (*paused)->fulfill();
                      paused_ = nullptr;
                    }
                  }).eagerlyEvaluate(nullptr);
  }));
}

template <class Write>
kj::Promise<void> TensorStream::WriteInTurns(size_t bytes, Write write) {
  if (turns_ == nullptr || bytes <= LoopTurns::kPieceBytes) return write(stream_);
  auto output = kj::heap<OutputInTurns>(*turns_, share_, stream_, write_began_);
  auto written = write(*output);
  return written.attach(kj::mv(output));
}

kj::Promise<void> TensorStream::writeMessage(kj::ArrayPtr<const int> fds, Segments segments) {
  kj::Vector<Outbox::Pinned> taken;
  TakePinned(segments, taken);
  kj::Promise<void> written = capability_stream_ && fds.size() > 0
                                  ? capnp::writeMessage(*capability_stream_, fds, segments)
                                  : WriteInTurns(BytesOf(segments), [&](auto& stream) {
                                      return capnp::writeMessage(stream, segments);
                                    });
  if (!taken.empty()) written = written.attach(kj::mv(taken));
  return CountWrite(kj::mv(written));
}

kj::Promise<void> TensorStream::writeMessages(kj::ArrayPtr<Segments> messages) {
  kj::Vector<Outbox::Pinned> taken;
  size_t bytes = 0;
  for (const Segments& segments : messages) {
    TakePinned(segments, taken);
    bytes += BytesOf(segments);
  }
  auto written =
      WriteInTurns(bytes, [&](auto& stream) { return capnp::writeMessages(stream, messages); });
  return CountWrite(written.attach(kj::mv(taken)));
}

kj::Maybe<int> TensorStream::getSendBufferSize() {
  int value = 0;
  kj::uint length = sizeof value;
  stream_.getsockopt(SOL_SOCKET, SO_SNDBUF, &value, &length);
  return value;
}

kj::Promise<void> TensorStream::end() {
  stream_.shutdownWrite();
  return kj::READY_NOW;
}

}  // namespace graphd
