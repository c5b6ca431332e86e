// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>

// The protocol between `graphctl copy` and `graphctl receive`, the helper process that it starts on
// each machine. Messages cross the helper's standard input and output in the frames of
// ctl/hosts/frame_reader.h. Checksums are XXH3-64, as 16 hexadecimal digits.
//
// The sender begins:
//   copy  version, workspace, timeout    seconds of silence until the sender is lost; 0: never
//   want  path, size, mode, xxh3         a required file; the first one has index 0
//   list                                 the end of the list of files
// The receiver sends `hello version`, and then answers in the order of the files:
//   checking bytes                       occasionally: the number of bytes read so far
//   same     file                        the file is already there
//   lacks    file, have, xxh3            the file is missing; its first `have` bytes, with this
//                                        checksum, are left from an interrupted copy
//   listed   bytes                       the disk has room for all missing files
// The sender continues, for each missing file:
//   put   file, offset                   0, or `have` if our first bytes have that checksum
//   data  n                              the next bytes of the file, at most kMaxData
// The receiver answers:
//   stored   file                        the file is complete, verified and has its final name
// At the end:
//   finish verify                        from the sender; verify: read all files again from disk
//   finished                             from the receiver: all files are on the disk
// At any time, the sender may send `ping`, and the receiver `error code, text`, after which it
// ends. The receiver also ends at the end of its input. It keeps the incomplete part of the current
// file in the directory of that file, under the name PartialName(). The sender gives up a receiver
// that neither accepts bytes nor reports progress for a while, and at once a receiver that sends
// far more than the protocol needs.

namespace graphd::ctl {

inline constexpr size_t kMaxData = size_t{1} << 20;    // FrameReader accepts no larger payload
inline constexpr size_t kMaxFiles = size_t{1} << 20;   // per machine
inline constexpr size_t kHashPiece = size_t{1} << 20;  // bytes per read; fits in the L2 cache

std::string ChecksumText(uint64_t checksum);
// Throws Error(kInvalid) unless `text` is 16 hexadecimal digits.
uint64_t ParseChecksum(const std::string& text);

}  // namespace graphd::ctl
