// SPDX-License-Identifier: Apache-2.0
#include "daemon/options.h"

#include <algorithm>

#include "base/strings.h"
#include "tests/fuzz/support/input_folder.h"
#include "tests/fuzz/support/target.h"

// Parses graphd's options: those of a configuration file, or of a command line with an argument per
// line.

namespace graphd::fuzz {

void ReadInput(std::string_view input) {
  static InputFolder folder({"graphd.conf"});
  if (input.empty()) return;
  std::vector<std::string> arguments{"graphd"};
  if (input[0] == 'c') {
    folder.Write("graphd.conf", input.substr(1));
    arguments.insert(arguments.end(), {"--config", folder / "graphd.conf"});
  } else {
    for (std::string& argument : Split(input.substr(1), '\n')) {
      std::replace(argument.begin(), argument.end(), '\0', '0');
      arguments.push_back(std::move(argument));
    }
  }
  std::vector<char*> pointers;
  for (std::string& argument : arguments) pointers.push_back(argument.data());
  const auto options = ParseOptions(static_cast<int>(pointers.size()), pointers.data());
  if (options) StoreDirectory(*options);
}

std::vector<std::string> Seeds() {
  return {
      "cserver_name = s\npart_config = g.json\npart_id = 0,1\nlisten = 127.0.0.1:30050\n"
      "embedding_memory = 64GiB\ndurability = power\ninsecure = true\n# comment\n",
      "c[default]\nserver_name=\"a b\"\npart_id=[0,1]\nindex=[\"out:a\", 'b']\n",
      "a--server_name\ns\n--part-config=g.json\n--part_id\n0,1\n--write_back_seconds\n0.5",
      "a--version", "a--listen\n[::1]:0\n--log_level\ndebug"};
}

}  // namespace graphd::fuzz
