// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>

// What `graphctl copy` and `graphctl receive`, its helper on each machine, say to each other over
// the helper's standard input and output, in the frames of ctl/hosts/frame_reader.h. Checksums are
// XXH3-64, as 16 hexadecimal digits.
//
// The sender begins:
//   copy  version, workspace, timeout    seconds of silence after which the sender is lost; 0: none
//   want  path, size, mode, xxh3         a file that shall be there; the first is number 0
//   list                                 that was the last one
// and is told, after `hello version`, in the order of the files:
//   checking bytes                       how much was read so far, now and then
//   same     file                        it is there already
//   lacks    file, have, xxh3            it is not; of its beginning `have` bytes, with this
//                                        checksum, are left from an interrupted copy
//   listed   bytes                       there is room for all that is missing
// Then, for each file that is missing:
//   put   file, offset                   0, or `have` if the checksum is that of our first bytes
//   data  n                              its next bytes, at most kMaxData
// and the answer
//   stored   file                        it is whole, its checksum is right, it has its name
// At last
//   finish verify                        verify: read everything again from the disk
//   finished                             everything is on the disk
// Any time: `ping` from the sender; `error code, text` from the receiver, which then ends. At the
// end of its input the receiver ends, too, and leaves what it has of the file under way in
// PartialName() beside it. A receiver that takes no byte, and whose answers and counts of bytes do
// not go on, is given up by the sender after a while, and one that says far more than there is to
// say at once.

namespace graphd::ctl {

inline constexpr size_t kMaxData = size_t{1} << 20;    // FrameReader takes no larger payload
inline constexpr size_t kMaxFiles = size_t{1} << 20;   // of one copy to one machine
inline constexpr size_t kHashPiece = size_t{1} << 20;  // read at a time: stays in the L2 cache

std::string ChecksumText(uint64_t checksum);
// Throws Error(kInvalid) unless it is 16 hexadecimal digits.
uint64_t ParseChecksum(const std::string& text);

}  // namespace graphd::ctl
