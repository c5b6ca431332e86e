// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <capnp/message.h>
#include <fuzzer/FuzzedDataProvider.h>

#include <algorithm>
#include <string>
#include <string_view>

#include "wire/graphd.capnp.h"

// Makes messages of the bytes of an input.

namespace graphd::fuzz {

// Returns an input: the byte `kind` and the message as a stream would carry it.
std::string Flat(char kind, capnp::MessageBuilder& message);

// Returns the bytes as words, as a stream would deliver them. Valid until the next call.
kj::ArrayPtr<const capnp::word> Words(std::string_view bytes);

// Returns a short text without zero bytes.
std::string Text(FuzzedDataProvider& data);

// Sets Data that `init(size)` makes to bytes of the input.
template <class Init>
void FillData(FuzzedDataProvider& data, Init&& init) {
  const auto bytes = data.ConsumeBytes<kj::byte>(data.ConsumeIntegral<uint8_t>());
  auto out = init(static_cast<kj::uint>(bytes.size()));
  std::copy(bytes.begin(), bytes.end(), out.begin());
}

// Sets the fields of a hop request. Most type ids and indexes are small.
void FillHop(FuzzedDataProvider& data, wire::Session::HopParams::Builder hop);

}  // namespace graphd::fuzz
