// SPDX-License-Identifier: Apache-2.0
#include "wire/tensor_stream.h"

#include <capnp/message.h>
#include <capnp/rpc.capnp.h>
#include <kj/async-io.h>

#include "tests/fuzz/support/target.h"
#include "tests/fuzz/support/wire_input.h"

// Receives the bytes as the framed messages of a connection. They arrive in pieces whose size is
// the first byte, at a client, or at a daemon before or after the peer has attached.

namespace graphd::fuzz {
namespace {

// A small limit: inputs are smaller still, and a message above it must be refused.
constexpr size_t kMaxMessage = size_t{1} << 20;

kj::Promise<void> Send(kj::AsyncIoStream& to, std::string_view bytes, size_t step) {
  if (bytes.empty()) {
    to.shutdownWrite();
    return kj::READY_NOW;
  }
  const std::string_view piece = bytes.substr(0, step);
  return to.write(piece.data(), piece.size()).then([&to, bytes, piece, step] {
    return Send(to, bytes.substr(piece.size()), step);
  });
}

void ReadMessages(TensorStream& stream, kj::WaitScope& scope) {
  for (;;) {
    auto received = stream.tryReadMessage(nullptr, {}, nullptr).wait(scope);
    KJ_IF_MAYBE (message, received) {
      capnp::MessageReader& reader = *message->reader;
      reader.getRoot<capnp::AnyPointer>().targetSize();
      const auto call = reader.getRoot<capnp::rpc::Message>();
      if (call.isCall()) call.getCall().getParams().getContent().targetSize();
    } else {
      return;
    }
  }
}

}  // namespace

void ReadInput(std::string_view input) {
  static auto io = kj::setupAsyncIo();
  if (input.empty()) return;
  const auto step = static_cast<uint8_t>(input[0]) * size_t{16} + 1;
  const std::string bytes(input.substr(1));
  const auto pool = BufferPool::Create();
  auto pipe = kj::newTwoWayPipe();
  TensorStream stream(*pipe.ends[0], nullptr, pool, kMaxMessage, kMaxMessage,
                      /*is_server=*/(input[0] & 1) != 0);
  if ((input[0] & 2) != 0) {
    stream.Admit(std::make_shared<MemoryAccount>("the input", size_t{16} << 30, ""));
  }
  auto sent = Send(*pipe.ends[1], bytes, step).eagerlyEvaluate(nullptr);
  try {
    ReadMessages(stream, io.waitScope);
  } catch (const kj::Exception&) {
    // The connection is closed.
  }
}

std::vector<std::string> Seeds() {
  capnp::MallocMessageBuilder call, large(4);
  call.initRoot<capnp::rpc::Message>().initCall().setMethodId(3);
  auto names = large.initRoot<wire::Graph>().initNtypes(20);
  for (kj::uint i = 0; i < names.size(); i++) names.set(i, "a name of some length");
  const std::string one = Flat(0, call).substr(1), many = Flat(0, large).substr(1);
  return {'\xff' + one, '\1' + one + many + one, '\xff' + many};
}

}  // namespace graphd::fuzz
