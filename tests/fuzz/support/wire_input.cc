// SPDX-License-Identifier: Apache-2.0
#include "tests/fuzz/support/wire_input.h"

#include <capnp/serialize.h>

#include <cstring>
#include <vector>

namespace graphd::fuzz {
namespace {

int32_t SmallNumber(FuzzedDataProvider& data) {
  const auto number = data.ConsumeIntegral<int8_t>();
  return number == INT8_MIN ? data.ConsumeIntegral<int32_t>() : number % 4;
}

void FillRule(FuzzedDataProvider& data, wire::SamplingRule::Builder rule) {
  rule.setSeeds(data.ConsumeIntegral<uint8_t>() % 3);
  rule.setEtype(SmallNumber(data));
  rule.setOutward(data.ConsumeBool());
  rule.setMethod(data.ConsumeIntegral<uint8_t>() % 7);
  rule.setFanout(data.ConsumeBool() ? data.ConsumeIntegral<int32_t>() : SmallNumber(data));
  rule.setReplace(data.ConsumeBool());
  rule.setColumn(Text(data));
  rule.setLargest(data.ConsumeBool());
  rule.setInclusive(data.ConsumeBool());
  rule.setKey(data.ConsumeIntegral<uint64_t>());
  rule.setEdgeIds(data.ConsumeBool());
  FillData(data, [&](kj::uint size) { return rule.initExclude(size); });
}

}  // namespace

std::string Flat(char kind, capnp::MessageBuilder& message) {
  const auto words = capnp::messageToFlatArray(message);
  const auto bytes = words.asBytes();
  return kind + std::string(reinterpret_cast<const char*>(bytes.begin()), bytes.size());
}

kj::ArrayPtr<const capnp::word> Words(std::string_view bytes) {
  static std::vector<capnp::word> words;
  // A new block for each input: a sanitizer sees reads beyond its end.
  words = std::vector<capnp::word>(bytes.size() / sizeof(capnp::word));
  if (!words.empty()) {
    std::memcpy(static_cast<void*>(words.data()), bytes.data(), words.size() * sizeof words[0]);
  }
  return kj::arrayPtr(words.data(), words.size());
}

std::string Text(FuzzedDataProvider& data) {
  static constexpr const char* kNames[] = {"", "u", "v", "weight", "label", "feat", "x"};
  const auto choice = data.ConsumeIntegral<uint8_t>();
  if (choice < std::size(kNames) * 8) return kNames[choice / 8];
  std::string text = data.ConsumeBytesAsString(choice % 16);
  std::replace(text.begin(), text.end(), '\0', '0');
  return text;
}

void FillHop(FuzzedDataProvider& data, wire::Session::HopParams::Builder hop) {
  for (auto seeds : hop.initSeeds(data.ConsumeIntegralInRange<kj::uint>(0, 3))) {
    seeds.setNtype(SmallNumber(data));
    FillData(data, [&](kj::uint size) { return seeds.initIds(size); });
    if (data.ConsumeBool()) FillData(data, [&](kj::uint size) { return seeds.initStreams(size); });
    if (data.ConsumeBool()) FillData(data, [&](kj::uint size) { return seeds.initTimes(size); });
  }
  for (auto rule : hop.initRules(data.ConsumeIntegralInRange<kj::uint>(0, 3))) FillRule(data, rule);
  for (auto rows : hop.initRows(data.ConsumeIntegralInRange<kj::uint>(0, 2))) {
    rows.setSeeds(data.ConsumeIntegral<uint8_t>() % 4);
    rows.setName(Text(data));
    rows.setBegin(data.ConsumeIntegral<uint8_t>());
  }
}

}  // namespace graphd::fuzz
