// SPDX-License-Identifier: Apache-2.0
#include "ctl/keys/key_bundle.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "base/strings.h"
#include "tls/certificate.h"
#include "tls/revoked_list.h"
#include "tls/shared_secret.h"

namespace graphd::ctl {
namespace {

bool MayBeSent(const std::string& name) {
  static const std::set<std::string> names = {"ca.pem",         "server.key", "server.pem",
                                              "client.key",     "client.pem", "revoked",
                                              SecretFile::kName};
  return names.contains(name);
}

void AddFile(const KeyDirectory& keys, const std::string& from, const std::string& name,
             std::vector<KeyFile>& files) {
  files.push_back({name, keys.Read(from)});
}

// Adds a certificate and its private key. Only the key that belongs to the certificate is added:
// after a rotation that was killed, the file of keys also has the old one.
void AddPair(const KeyDirectory& keys, const std::string& from, const std::string& name,
             std::vector<KeyFile>& files) {
  const KeyPair pair = keys.ReadPair(from);
  files.push_back({name + ".key", pair.key.ToPem()});
  files.push_back({name + ".pem", pair.certificate.ToPem()});
}

std::string StemOf(const std::string& name) { return name.substr(0, name.rfind('.')); }

const KeyFile* Find(const std::vector<KeyFile>& files, const std::string& name) {
  const auto found = std::find_if(files.begin(), files.end(),
                                  [&](const KeyFile& file) { return file.name == name; });
  return found == files.end() ? nullptr : &*found;
}

void AddRevoked(const KeyDirectory& keys, std::vector<KeyFile>& files) {
  if (keys.Has("revoked")) AddFile(keys, "revoked", "revoked", files);
}

// Returns the files for a machine on which the owner of the keys runs daemons or trainers.
// `has_daemons`: whether to add the daemons' key.
std::vector<KeyFile> KeysOfOwner(const KeyDirectory& keys, bool has_daemons, bool with_revoked) {
  std::vector<KeyFile> files;
  const bool has_secret = keys.Has(SecretFile::kName);
  if (has_secret) AddFile(keys, SecretFile::kName, SecretFile::kName, files);
  if (has_secret && !keys.Has("server.pem")) return files;
  AddFile(keys, "ca.pem", "ca.pem", files);
  if (has_daemons) AddPair(keys, "server", "server", files);
  AddPair(keys, "client", "client", files);
  if (with_revoked) AddRevoked(keys, files);
  return files;
}

// Adds the certificates of a list to those that are revoked here. An older list may arrive after a
// newer one, and must not make certificates valid again.
void InstallRevoked(const KeyDirectory& keys, const std::string& text) {
  const UniqueFd lock = keys.Lock();
  RevokedList list = RevokedList::Parse(text, "revoked");
  if (keys.Has("revoked")) {
    list.Add(RevokedList::Parse(keys.Read("revoked"), keys.PathOf("revoked")));
  }
  keys.Write("revoked", list.ToText());
}

}  // namespace

std::vector<KeyFile> KeysOfHost(const KeyDirectory& keys, bool with_revoked) {
  return KeysOfOwner(keys, /*has_daemons=*/true, with_revoked);
}

std::vector<KeyFile> KeysOfTrainerHost(const KeyDirectory& keys, bool with_revoked) {
  return KeysOfOwner(keys, /*has_daemons=*/false, with_revoked);
}

std::vector<KeyFile> KeysOfClient(const KeyDirectory& keys, const std::string& name) {
  const std::string folder = "clients/" + name + "/";
  std::vector<KeyFile> files;
  AddFile(keys, folder + "ca.pem", "ca.pem", files);
  AddPair(keys, folder + "client", "client", files);
  AddRevoked(keys, files);
  return files;
}

std::vector<KeyFile> RevokedAlone(const KeyDirectory& keys) {
  std::vector<KeyFile> files;
  AddFile(keys, "revoked", "revoked", files);
  return files;
}

void InstallKeys(const KeyDirectory& keys, const std::vector<KeyFile>& files) {
  for (const KeyFile& file : files) {
    if (!MayBeSent(file.name)) {
      Throw(ErrorCode::kInvalid, "'", file.name, "' is not a file that a machine is sent");
    }
    // Damaged files are refused here, before anything is written. Otherwise, only the daemon would
    // notice them.
    if (file.name == "revoked") RevokedList::Parse(file.text, file.name);
    if (file.name == SecretFile::kName) SharedSecret::Parse(file.text, file.name);
    if (file.name.ends_with(".pem")) Certificate::FromPem(file.text, file.name);
    if (file.name == "ca.pem" && keys.Has("ca.key") && keys.Read("ca.pem") != file.text) {
      Throw(ErrorCode::kExists, keys.path(), " has keys of its own authority; remove that ",
            "directory if the server's keys are made elsewhere now");
    }
  }
  std::map<std::string, KeyPair> pairs;  // all pairs are checked before the first one is written
  for (const KeyFile& file : files) {
    const KeyFile* const key = Find(files, StemOf(file.name) + ".key");
    if (!file.name.ends_with(".pem") || key == nullptr) continue;
    Certificate certificate = Certificate::FromPem(file.text, file.name);
    auto found = PrivateKey::Find(key->text, certificate);
    if (!found)
      Throw(ErrorCode::kInvalid, key->name, " is not the private key of ", file.name,
            "; send them again with `graphctl keys distribute`");
    pairs.emplace(StemOf(file.name), KeyPair{std::move(certificate), std::move(*found)});
  }
  for (const KeyFile& file : files) {
    const auto pair = pairs.find(StemOf(file.name));
    if (file.name == "revoked") {
      InstallRevoked(keys, file.text);
    } else if (pair == pairs.end()) {
      keys.Write(file.name, file.text);
    } else if (file.name.ends_with(".pem")) {
      keys.WritePair(pair->first, pair->second);
    }
  }
}

}  // namespace graphd::ctl
