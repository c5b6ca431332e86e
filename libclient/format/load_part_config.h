// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>

#include "format/config/part_config.h"

namespace graphd {

// Reads and checks a part config. The path of a partition's file is tried relative to the JSON's
// directory, then as part<i>/<basename> beside the JSON (the layout that DGL's copy_files.py
// creates), then relative to the working directory. The path of an .npy map is tried relative to
// the working directory, then relative to the JSON's directory, then as its base name beside the
// JSON. The first file that exists is used. A machine needs only its own partition, so a missing
// file of a partition is not an error here: the first candidate is returned, and loading it reports
// that it is missing. Throws Error(kNotFound) if the JSON or a map is missing, Error(kVersion) for
// a "format" that this build does not know, and Error(kCorrupt), which names file, key, value and
// expectation.
PartConfig LoadPartConfig(const std::string& path);

// Return the path of a file that a part config names, found as LoadPartConfig describes.
// FindPartFile is for a file of a partition, FindMapFile for an .npy map.
std::string FindPartFile(const std::string& config_path, PartId part, const std::string& named);
std::string FindMapFile(const std::string& config_path, const std::string& named);

}  // namespace graphd
