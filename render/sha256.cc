#include "render/sha256.h"

#include <openssl/evp.h>

#include <array>
#include <stdexcept>

namespace inference::render {

std::string sha256_hex(std::string_view bytes) {
  std::array<unsigned char, EVP_MAX_MD_SIZE> hash{};
  unsigned int length = 0;
  if (EVP_Digest(bytes.data(), bytes.size(), hash.data(), &length, EVP_sha256(), nullptr) != 1)
    throw std::logic_error("OpenSSL has no SHA-256");
  static constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text;
  for (unsigned int i = 0; i < length; ++i) {
    text += kDigits[hash[i] >> 4U];
    text += kDigits[hash[i] & 15U];
  }
  return text;
}

}  // namespace inference::render
