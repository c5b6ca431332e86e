// SPDX-License-Identifier: Apache-2.0
#include "base/secret.h"

#include <sys/random.h>

#include "base/file.h"

namespace graphd {

std::string NewSecret() {
  unsigned char bytes[32];
  if (::getrandom(bytes, sizeof bytes, 0) != sizeof bytes) {
    ThrowErrno("can't get random bytes from", "the kernel");
  }
  std::string text;
  for (const unsigned char byte : bytes) {
    text += "0123456789abcdef"[byte >> 4];
    text += "0123456789abcdef"[byte & 15];
  }
  return text;
}

bool EqualSecrets(const std::string& a, const std::string& b) {
  if (a.size() != b.size()) return false;
  unsigned differences = 0;
  for (size_t i = 0; i < a.size(); i++) {
    differences |=
        static_cast<unsigned>(static_cast<unsigned char>(a[i]) ^ static_cast<unsigned char>(b[i]));
  }
  return differences == 0;
}

}  // namespace graphd
