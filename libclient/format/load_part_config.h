// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>

#include "format/config/part_config.h"

namespace graphd {

// Reads and checks a part config. Paths in it are tried relative to the JSON's directory, then as
// part<i>/<basename> beside the JSON (DGL's copy_files.py leaves such), then relative to the
// working directory; the first that exists is taken. A machine needs only its own partition, so a
// file that is nowhere is no error here: the first candidate is given, and loading it says what is
// missing. An .npy map is also sought under its base name beside the JSON. Throws Error(kNotFound),
// Error(kVersion) for a "format" that this build does not know, Error(kCorrupt) with file, key,
// value and expectation.
PartConfig LoadPartConfig(const std::string& path);

// Where a file lies that a part config names, as LoadPartConfig looks for it: one of a partition,
// an .npy map.
std::string FindPartFile(const std::string& config_path, PartId part, const std::string& named);
std::string FindMapFile(const std::string& config_path, const std::string& named);

}  // namespace graphd
