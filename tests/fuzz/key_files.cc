// SPDX-License-Identifier: Apache-2.0
#include <filesystem>
#include <utility>

#include "ctl/keys/key_bundle.h"
#include "tests/fuzz/support/input_folder.h"
#include "tests/fuzz/support/target.h"
#include "tls/issue.h"
#include "tls/key_directory.h"

// Installs the files of keys that another machine has sent, and reads a directory of keys, whose
// files anybody may have damaged. The first byte chooses; the rest are packed files.

namespace graphd::fuzz {
namespace {

constexpr const char* kNames[] = {"ca.pem",     "server.pem", "server.key", "client.pem",
                                  "client.key", "revoked",    "secret.key"};

InputFolder& Received() {
  static InputFolder folder({std::begin(kNames), std::end(kNames)});
  return folder;
}

}  // namespace

void ReadInput(std::string_view input) {
  if (input.empty()) return;
  InputFolder& received = Received();
  received.Unpack(input.substr(1));
  const KeyDirectory keys(received.path(), "fuzz");
  if (input[0] == 'd') {
    for (const char* name : {"server", "client"}) Attempt([&] { keys.ReadPair(name); });
    return;
  }
  std::vector<ctl::KeyFile> files;
  for (const char* name : kNames) {
    if (std::filesystem::exists(received / name)) files.push_back({name, keys.Read(name)});
  }
  static const InputFolder installed({});
  ctl::InstallKeys(KeyDirectory(installed.path(), "fuzz"), files);
}

std::vector<std::string> Seeds() {
  const KeyPair authority = MakeAuthority("fuzz");
  const KeyPair server = Issue(authority, CertificateKind::kServer, "fuzz");
  const KeyPair client = Issue(authority, CertificateKind::kClient, "alice");
  const std::string pairs = Pack({{"ca.pem", authority.certificate.ToPem()},
                                  {"server.pem", server.certificate.ToPem()},
                                  {"server.key", server.key.ToPem()},
                                  {"client.pem", client.certificate.ToPem()},
                                  {"client.key", client.key.ToPem()},
                                  {"revoked", ""}});
  // A pair that is being replaced: the file of keys has two.
  const std::string replaced = Pack({{"server.pem", server.certificate.ToPem()},
                                     {"server.key", client.key.ToPem() + server.key.ToPem()}});
  return {'d' + pairs, 'i' + pairs, 'd' + replaced,
          'i' + Pack({{"secret.key", std::string(64, 'a') + "\n"}})};
}

}  // namespace graphd::fuzz
