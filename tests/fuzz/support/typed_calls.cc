// SPDX-License-Identifier: Apache-2.0
#include "tests/fuzz/support/typed_calls.h"

#include <iterator>

#include "tests/fuzz/support/wire_input.h"

namespace graphd::fuzz {
namespace {

constexpr int kWaitMilliseconds = 5;

}  // namespace

TypedClient::TypedClient(DaemonServices& services, UniqueFd fd, bool is_unix)
    : connection(WrapSocket(*services.io().lowLevelProvider, std::move(fd), true), is_unix,
                 BufferPool::Create(), capnp::rpc::twoparty::Side::CLIENT, nullptr),
      daemon(connection.Bootstrap()) {}

TypedCalls::TypedCalls(DaemonServices& services, std::string_view input)
    : services_(services),
      daemon_(services),
      data_(reinterpret_cast<const uint8_t*>(input.data()), input.size()) {}

std::string TypedCalls::OneOf(std::initializer_list<const char*> texts) {
  const size_t choice = data_.ConsumeIntegral<uint8_t>();
  if (choice < texts.size() * 16) return *std::next(texts.begin(), choice / 16);
  return Text(data_);
}

TypedCalls::Chosen TypedCalls::ChoosePeer() {
  static constexpr Role kRoles[] = {Role::kOperator, Role::kOperator, Role::kWriter, Role::kReader,
                                    Role::kNone};
  const Role role = kRoles[data_.ConsumeIntegral<uint8_t>() % std::size(kRoles)];
  const bool is_unix = data_.ConsumeIntegral<uint8_t>() % 4 != 0;
  const bool is_operator = is_unix && role == Role::kOperator;
  may_stop_ |= is_operator;
  return {DaemonServices::PeerOfRole(role, is_unix), is_operator};
}

void TypedCalls::DropACall() {
  if (promises_.empty()) return;
  promises_.erase(promises_.begin() + Some<uint8_t>() % promises_.size());
}

void TypedCalls::WaitForAnswers() {
  services_.RunUntil(kWaitMilliseconds, [this] { return answers_->open == 0; });
}

void TypedCalls::End() {
  promises_.clear();
  if (answers_->internal) Fail("an error of the kind internal: " + *answers_->internal);
  if (daemon_.stops() > 0 && !may_stop_) Fail("a stop of the daemon by a client without the right");
}

std::vector<std::string> SeedsOfTypedCalls() {
  std::vector<std::string> seeds;
  uint32_t state = 1;
  for (int i = 0; i < 64; i++) {
    std::string seed(200, '\0');
    for (char& each : seed) {
      state = state * 1664525 + 1013904223;
      each = static_cast<char>(state >> 24);
    }
    seeds.push_back(std::move(seed));
  }
  return seeds;
}

}  // namespace graphd::fuzz
