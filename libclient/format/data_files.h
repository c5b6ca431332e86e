// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "format/io/file_stamp.h"
#include "format/load_part_config.h"

// Functions that identify the files that a graph was read from, to detect whether the files have
// changed.

namespace graphd {

// Returns the stamps of the files that the partitions are loaded from. Throws as FileStamp::Of
// does.
std::vector<FileStamp> StampDataFiles(const PartConfig& config, std::span<const PartId> parts);

// Returns a number that identifies the data of these files; it is never 0. It is a hash of the
// sizes and modification times of all files, and of the contents of the JSON files. (In the native
// format, these contain a checksum of each array.) Copies on other machines have the same number if
// they have the same modification times. Throws Error(kIo) if a file can't be read.
uint64_t DataHash(const std::vector<FileStamp>& files);
// Returns the hash as 16 hexadecimal digits, as it is shown to people and written to files.
std::string Fingerprint(uint64_t data_hash);

}  // namespace graphd
