// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "format/io/file_stamp.h"
#include "format/load_part_config.h"

// Recognises the files that a graph was read from, and whether they are others now.

namespace graphd {

// Returns the stamps of the files that the partitions are loaded from. Throws as FileStamp::Of.
std::vector<FileStamp> StampDataFiles(const PartConfig& config, std::span<const PartId> parts);

// Returns a number that tells the data of these files apart from others, which is never 0: of the
// contents of JSON files, which in the native format have a checksum of each array, and of the
// sizes and times of others. Equal copies on other machines have the same one. Throws Error(kIo) if
// a file can't be read.
uint64_t DataHash(const std::vector<FileStamp>& files);
// Returns the text by which people and files of state name the data.
std::string Fingerprint(uint64_t data_hash);

}  // namespace graphd
