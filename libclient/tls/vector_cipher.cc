// SPDX-License-Identifier: Apache-2.0
#include "tls/record_cipher.h"

#ifdef __x86_64__
#include <cpuid.h>

#include "base/processor.h"

namespace graphd {

bool HasVectorAes() {
  // The library asks only the processor. These functions also ask whether the kernel saves the
  // registers.
  if (kVectorBits < 512 || !__builtin_cpu_supports("avx512bw")) return false;
  constexpr unsigned kVaes = 1U << 9, kVpclmulqdq = 1U << 10;
  unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
  return __get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx) == 1 && (ecx & kVaes) != 0 &&
         (ecx & kVpclmulqdq) != 0;
}

}  // namespace graphd
#else
namespace graphd {
bool HasVectorAes() { return false; }
}  // namespace graphd
#endif

#if __has_include(<intel-ipsec-mb.h>)
#include <dlfcn.h>
#include <intel-ipsec-mb.h>
#include <openssl/crypto.h>

#include <string_view>
#include <vector>

namespace graphd {
namespace {

// Returns a function of a library; null if the library does not have it.
template <class Function>
Function* Find(void* library, const char* name) {
  return reinterpret_cast<Function*>(::dlsym(library, name));
}

// Loads the library while the process runs, so that neither packages nor wheels need to contain it.
// Returns null unless the library has the version of the header, whose structures it shares, and
// uses vector AES instructions: its functions without them are not faster than OpenSSL's.
const IMB_MGR* LoadFunctions() {
  if (!HasVectorAes()) return nullptr;
  void* const library = ::dlopen("libIPSec_MB.so.1", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return nullptr;
  auto* const version = Find<decltype(imb_get_version_str)>(library, "imb_get_version_str");
  auto* const allocate = Find<decltype(alloc_mb_mgr)>(library, "alloc_mb_mgr");
  auto* const initialize = Find<decltype(init_mb_mgr_auto)>(library, "init_mb_mgr_auto");
  if (version == nullptr || allocate == nullptr || initialize == nullptr ||
      std::string_view(version()) != IMB_VERSION_STR) {
    return nullptr;
  }
  IMB_MGR* const functions = allocate(0);
  if (functions == nullptr) return nullptr;
  IMB_ARCH architecture = IMB_ARCH_NONE;
  initialize(functions, &architecture);
  constexpr uint64_t kNeeded =
      IMB_FEATURE_VAES | IMB_FEATURE_SELF_TEST | IMB_FEATURE_SELF_TEST_PASS;
  const bool is_usable =
      architecture == IMB_ARCH_AVX512 && (functions->features & kNeeded) == kNeeded;
  return is_usable ? functions : nullptr;
}

class VectorCipher final : public RecordCipher {
 public:
  VectorCipher(const IMB_MGR* functions, const Key& key) : functions_(functions) {
    IMB_AES128_GCM_PRE(functions_, key.data(), &key_);
  }
  ~VectorCipher() override {
    OPENSSL_cleanse(&key_, sizeof key_);
    OPENSSL_cleanse(&state_, sizeof state_);
  }

  void Encrypt(const Nonce& nonce, const std::byte* header, std::span<const std::byte> content,
               std::byte type, std::byte* to) override {
    Begin(nonce, header);
    IMB_AES128_GCM_ENC_UPDATE(functions_, &key_, &state_, Bytes(to), Bytes(content.data()),
                              content.size());
    IMB_AES128_GCM_ENC_UPDATE(functions_, &key_, &state_, Bytes(to + content.size()), Bytes(&type),
                              1);
    IMB_AES128_GCM_ENC_FINALIZE(functions_, &key_, &state_, Bytes(to + content.size() + 1),
                                kTagBytes);
  }

  bool Decrypt(const Nonce& nonce, const std::byte* header, std::span<const std::byte> sealed,
               std::byte* to, std::byte& type) override {
    Begin(nonce, header);
    const size_t content = sealed.size() - kTagBytes - 1;
    IMB_AES128_GCM_DEC_UPDATE(functions_, &key_, &state_, Bytes(to), Bytes(sealed.data()), content);
    IMB_AES128_GCM_DEC_UPDATE(functions_, &key_, &state_, Bytes(&type),
                              Bytes(sealed.data() + content), 1);
    unsigned char tag[kTagBytes];
    IMB_AES128_GCM_DEC_FINALIZE(functions_, &key_, &state_, tag, kTagBytes);
    return CRYPTO_memcmp(tag, sealed.data() + content + 1, kTagBytes) == 0;
  }

 private:
  static uint8_t* Bytes(std::byte* at) { return reinterpret_cast<uint8_t*>(at); }
  static const uint8_t* Bytes(const std::byte* at) { return reinterpret_cast<const uint8_t*>(at); }
  void Begin(const Nonce& nonce, const std::byte* header) {
    IMB_AES128_GCM_INIT(functions_, &key_, &state_, nonce.data(), Bytes(header), kHeaderBytes);
  }

  const IMB_MGR* const functions_;
  alignas(64) gcm_key_data key_{};
  alignas(64) gcm_context_data state_{};
};

// Returns the library's functions if they encrypt a record to the same bytes as OpenSSL, and
// otherwise null. The comparison is needed because a process may contain another version of the
// library, whose functions the dynamic linker prefers.
const IMB_MGR* LoadAndCompare() {
  const IMB_MGR* const functions = LoadFunctions();
  if (functions == nullptr) return nullptr;
  constexpr size_t kContent = 1000;
  const std::vector<std::byte> content(kContent, std::byte{7});
  std::vector<std::byte> ours(kContent + 1 + RecordCipher::kTagBytes), theirs(ours.size());
  VectorCipher(functions, {}).Encrypt({}, content.data(), content, std::byte{1}, ours.data());
  MakeOpenSslCipher({})->Encrypt({}, content.data(), content, std::byte{1}, theirs.data());
  return ours == theirs ? functions : nullptr;
}

}  // namespace

std::unique_ptr<RecordCipher> MakeVectorCipher(const RecordCipher::Key& key) {
  static const IMB_MGR* const functions = LoadAndCompare();
  if (functions == nullptr) return nullptr;
  return std::make_unique<VectorCipher>(functions, key);
}

}  // namespace graphd

#else

namespace graphd {

// The header of libipsec-mb, which exists for x86-64 only, is missing here.
std::unique_ptr<RecordCipher> MakeVectorCipher(const RecordCipher::Key&) { return nullptr; }

}  // namespace graphd

#endif
