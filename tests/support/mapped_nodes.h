// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <cstring>
#include <nlohmann/json.hpp>
#include <span>
#include <string>

#include "base/file.h"
#include "base/strings.h"

namespace graphd::testing {

// Rewrites a part config so that its nodes have a mapped book with these owners, in a file beside
// it, as older versions of DGL write it.
inline void MapNodes(const std::string& part_config, std::span<const int32_t> owners) {
  std::string header =
      StrCat("{'descr': '<i4', 'fortran_order': False, 'shape': (", owners.size(), ",), }");
  header.resize((10 + header.size()) / 64 * 64 + 64 - 10 - 1, ' ');
  header += '\n';
  const auto length = static_cast<uint16_t>(header.size());
  std::string file("\x93NUMPY\x01\x00", 8);
  file.append(reinterpret_cast<const char*>(&length), sizeof length);
  file += header;
  file.append(reinterpret_cast<const char*>(owners.data()), owners.size_bytes());
  WriteFileAtomically(DirName(part_config) + "/node_map.npy", file);

  auto root = nlohmann::json::parse(ReadTextFile(part_config));
  root["node_map"] = "node_map.npy";
  root["num_nodes"] = owners.size();
  WriteFileAtomically(part_config, root.dump());
}

}  // namespace graphd::testing
