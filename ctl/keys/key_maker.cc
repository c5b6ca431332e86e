// SPDX-License-Identifier: Apache-2.0
#include "ctl/keys/key_maker.h"

#include <algorithm>

#include "base/directory.h"
#include "base/strings.h"
#include "tls/shared_secret.h"

namespace graphd::ctl {
namespace {

constexpr size_t kMaxName = 64;  // the limit of X.509

// The lists of certificates that are revoked, and of those that are to be revoked when all machines
// have the keys that replace them.
constexpr const char* kRevoked = "revoked";
constexpr const char* kRevokeNext = "revoke_next";

std::string FolderOf(const std::string& client) { return "clients/" + client + "/"; }

void CheckClientName(const std::string& name, const std::string& server_name) {
  const bool is_plain = name.find_first_not_of(
                            "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                            "0123456789-_.@") == std::string::npos;
  if (name.empty() || name.size() > kMaxName || !is_plain || name[0] == '.' || name[0] == '-') {
    Throw(ErrorCode::kInvalid, "--client '", name, "': use 1 to ", kMaxName,
          " letters, digits, '-', '_', '.' and '@', and begin with none of '-' and '.'");
  }
  if (name == kOwnerName || name == server_name) {
    Throw(ErrorCode::kInvalid, "--client ", name, ": the name is that of ",
          name == kOwnerName ? "the owner's" : "the server's",
          " own certificate; choose another one");
  }
}

}  // namespace

KeyPair KeyMaker::ReadAuthority() const {
  if (!directory_.Has("ca.key")) {
    Throw(ErrorCode::kNotFound, "there is no ", directory_.PathOf("ca.key"),
          "; run this on the machine and as the user that made the keys, or make keys with ",
          "`graphctl keys create --server_name ", server_name_, "`");
  }
  KeyPair authority{Certificate::FromPem(directory_.Read("ca.pem"), directory_.PathOf("ca.pem")),
                    PrivateKey::FromPem(directory_.Read("ca.key"), directory_.PathOf("ca.key"))};
  if (!authority.key.Matches(authority.certificate)) {
    Throw(ErrorCode::kInvalid, directory_.PathOf("ca.key"), " is not the private key of ",
          directory_.PathOf("ca.pem"), "; restore both from the same backup");
  }
  return authority;
}

RevokedList KeyMaker::ReadList(const std::string& file) const {
  if (!directory_.Has(file)) return {};
  return RevokedList::Parse(directory_.Read(file), directory_.PathOf(file));
}

// Adds to the list of revoked certificates. The clients' directories get it, too, because clients
// refuse a server whose certificate is revoked.
void KeyMaker::AddRevoked(const RevokedList& added) const {
  RevokedList list = ReadList(kRevoked);
  list.Add(added);
  directory_.Write(kRevoked, list.ToText());
  for (const Entry& entry : List()) {
    if (!entry.folder.empty()) directory_.Write(entry.folder + kRevoked, list.ToText());
  }
}

KeyMaker::Entry KeyMaker::Issue(const KeyPair& authority, const std::string& folder,
                                CertificateKind kind, const std::string& name, int days) const {
  const KeyPair made = graphd::Issue(authority, kind, name, days);
  const std::string file = folder + (kind == CertificateKind::kServer ? "server" : "client");
  if (!folder.empty()) directory_.Write(folder + "ca.pem", authority.certificate.ToPem());
  directory_.WritePair(file, made);
  return {name, made.certificate.serial(), kind, made.certificate.not_after(), false, folder};
}

std::vector<KeyMaker::Entry> KeyMaker::Create(const std::vector<std::string>& clients, int days) {
  for (const std::string& client : clients) CheckClientName(client, server_name_);
  const UniqueFd lock = directory_.Lock();
  for (const std::string& client : clients) {
    if (directory_.Has(FolderOf(client) + "client.pem")) {
      Throw(ErrorCode::kExists, "client '", client, "' has keys in ",
            directory_.PathOf("clients/" + client), "; renew them with `graphctl keys rotate`");
    }
  }
  std::vector<Entry> made;
  if (!directory_.Has("ca.key")) {
    if (directory_.Has("ca.pem")) {
      Throw(ErrorCode::kExists, directory_.path(),
            " has keys of an authority whose private key is ",
            "elsewhere; make keys there, or choose another directory with --keys");
    }
    const KeyPair authority = MakeAuthority(server_name_);
    directory_.Write("ca.pem", authority.certificate.ToPem());
    directory_.Write("ca.key", authority.key.ToPem());
    made.push_back({authority.certificate.name(), authority.certificate.serial(),
                    CertificateKind::kAuthority, authority.certificate.not_after(), false, ""});
  }
  const KeyPair authority = ReadAuthority();
  if (!directory_.Has("server.pem")) {
    made.push_back(Issue(authority, "", CertificateKind::kServer, server_name_, days));
  }
  if (!directory_.Has("client.pem")) {
    made.push_back(Issue(authority, "", CertificateKind::kClient, kOwnerName, days));
  }
  for (const std::string& client : clients) {
    made.push_back(Issue(authority, FolderOf(client), CertificateKind::kClient, client, days));
  }
  if (made.empty()) {
    Throw(ErrorCode::kExists, directory_.path(), " has the keys of server '", server_name_,
          "' already; add clients with --client, or renew them with `graphctl keys rotate`");
  }
  AddRevoked({});
  return made;
}

void KeyMaker::CreateSecret() const {
  if (HasSecret()) {
    Throw(ErrorCode::kExists, directory_.PathOf(SecretFile::kName), " exists already; to make ",
          "another one, remove it first, then send the new one and wait a second: daemons and ",
          "clients read it again");
  }
  directory_.Write(SecretFile::kName, SharedSecret::NewText());
}

bool KeyMaker::HasSecret() const { return directory_.Has(SecretFile::kName); }

std::vector<KeyMaker::Entry> KeyMaker::List() const {
  const RevokedList revoked = ReadList(kRevoked);
  std::vector<std::string> files = {"ca.pem", "server.pem", "client.pem"};
  if (directory_.Has("clients")) {
    for (const std::string& client : ListDirectory(directory_.PathOf("clients"))) {
      files.push_back(FolderOf(client) + "client.pem");
    }
  }
  std::vector<Entry> entries;
  std::map<std::string, std::string> others = revoked.names();
  for (const std::string& file : files) {
    if (!directory_.Has(file)) continue;
    const Certificate certificate =
        Certificate::FromPem(directory_.Read(file), directory_.PathOf(file));
    const std::string serial = certificate.serial();
    const size_t slash = file.rfind('/');
    entries.push_back({certificate.name(), serial, certificate.kind(), certificate.not_after(),
                       revoked.Has(serial),
                       slash == std::string::npos ? "" : file.substr(0, slash + 1)});
    others.erase(serial);
  }
  if (entries.empty() && others.empty() && !HasSecret()) {
    Throw(ErrorCode::kNotFound, directory_.path(), " has no keys; make them with ",
          "`graphctl keys create --server_name ", server_name_,
          "`, or name another directory with ", "--keys");
  }
  for (const auto& [serial, name] : others) entries.push_back({name, serial, {}, 0, true, ""});
  return entries;
}

std::vector<KeyMaker::Entry> KeyMaker::Rotate(const std::vector<std::string>& names, int days,
                                              const std::function<void()>& send) {
  const KeyPair authority = ReadAuthority();
  const UniqueFd lock = directory_.Lock();
  std::vector<Entry> chosen;
  const std::vector<Entry> all = List();
  for (const Entry& entry : all) {
    const bool is_named = std::find(names.begin(), names.end(), entry.name) != names.end();
    if (!entry.kind || *entry.kind == CertificateKind::kAuthority) continue;
    if (names.empty() || is_named) chosen.push_back(entry);
  }
  for (const std::string& name : names) {
    const auto has_name = [&](const Entry& entry) { return entry.name == name; };
    if (std::none_of(chosen.begin(), chosen.end(), has_name)) {
      Throw(ErrorCode::kNotFound, directory_.path(), " has no key of '", name,
            "'; see `graphctl keys list`");
    }
  }
  // The old certificates are written down before the first one is replaced. If this rotation fails
  // or is killed, the next one of the same names revokes these, too.
  RevokedList next = ReadList(kRevokeNext), now, later;
  for (const Entry& entry : chosen) next.Add(entry.serial, entry.name);
  for (const auto& [serial, name] : next.names()) {
    const bool is_named = std::find(names.begin(), names.end(), name) != names.end();
    (names.empty() || is_named ? now : later).Add(serial, name);
  }
  directory_.Write(kRevokeNext, next.ToText());
  std::vector<Entry> made;
  for (const Entry& entry : chosen) {
    made.push_back(Issue(authority, entry.folder, *entry.kind, entry.name, days));
  }
  // The list of revoked certificates is written after `send`. When it takes effect, all machines
  // already have the new keys, so that nobody is refused because of an old certificate.
  send();
  AddRevoked(now);
  if (later.names().empty()) {
    RemoveFile(directory_.PathOf(kRevokeNext));
  } else {
    directory_.Write(kRevokeNext, later.ToText());
  }
  return made;
}

std::vector<KeyMaker::Entry> KeyMaker::Revoke(const std::string& name_or_serial) {
  List();  // Without any keys, this throws before the directory is made.
  const UniqueFd lock = directory_.Lock();
  std::vector<Entry> all = List();
  const RevokedList next = ReadList(kRevokeNext);
  for (const auto& [serial, name] : next.names()) {
    const auto found = std::ranges::find(all, serial, &Entry::serial);
    if (found == all.end()) all.push_back({name, serial, {}, 0, false, ""});
  }
  RevokedList revoked;
  std::vector<Entry> chosen;
  for (Entry& entry : all) {
    if (entry.name != name_or_serial && entry.serial != name_or_serial) continue;
    if (entry.kind == CertificateKind::kAuthority) {
      Throw(ErrorCode::kInvalid, "the authority itself can't be revoked; remove ",
            directory_.path(), " on all machines and make new keys");
    }
    revoked.Add(entry.serial, entry.name);
    entry.is_revoked = true;
    chosen.push_back(entry);
  }
  if (chosen.empty()) {
    Throw(ErrorCode::kNotFound, directory_.path(), " has no certificate with the name or serial ",
          "number '", name_or_serial, "'; see `graphctl keys list`");
  }
  AddRevoked(revoked);
  return chosen;
}

}  // namespace graphd::ctl
