// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>

#include "format/config/part_config.h"

namespace graphd {

// Reads and checks a part config. A path in it is resolved relative to the JSON's directory, then
// as part<i>/<basename> beside the JSON (the layout that DGL's copy_files.py creates), then
// relative to the working directory; the first one that exists is used. A machine needs only its
// own partition, so a missing file is not an error here: the first candidate is returned, and
// loading it reports what is missing. An .npy map is also searched for under its base name beside
// the JSON. Throws Error(kNotFound), Error(kVersion) for a "format" that this build does not know,
// Error(kCorrupt) with file, key, value and expectation.
PartConfig LoadPartConfig(const std::string& path);

// Return the path of a file that a part config names, resolved as in LoadPartConfig: a file of a
// partition, an .npy map.
std::string FindPartFile(const std::string& config_path, PartId part, const std::string& named);
std::string FindMapFile(const std::string& config_path, const std::string& named);

}  // namespace graphd
