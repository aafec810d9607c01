#include "operator/client/base64.h"

#include <openssl/evp.h>

#include <algorithm>

namespace inference::client {

std::string encode_base64(std::string_view bytes) {
  std::string text(4 * ((bytes.size() + 2) / 3) + 1, '\0');  // and the zero that OpenSSL appends
  const int size =
      EVP_EncodeBlock(reinterpret_cast<unsigned char*>(text.data()),
                      reinterpret_cast<const unsigned char*>(bytes.data()), static_cast<int>(bytes.size()));
  text.resize(static_cast<std::size_t>(size));
  return text;
}

std::optional<std::string> decode_base64(std::string_view text) {
  std::string compact;
  std::ranges::copy_if(text, std::back_inserter(compact),
                       [](char c) { return c != '\n' && c != '\r' && c != ' ' && c != '\t'; });
  if (compact.size() % 4 != 0) return std::nullopt;
  // OpenSSL takes padding anywhere and decodes it as zeros.
  const std::size_t padding = compact.ends_with("==") ? 2 : compact.ends_with("=") ? 1 : 0;
  if (compact.find('=') < compact.size() - padding) return std::nullopt;
  std::string bytes(compact.size() / 4 * 3, '\0');
  const int size =
      EVP_DecodeBlock(reinterpret_cast<unsigned char*>(bytes.data()),
                      reinterpret_cast<const unsigned char*>(compact.data()), static_cast<int>(compact.size()));
  if (size < 0) return std::nullopt;
  bytes.resize(static_cast<std::size_t>(size) - padding);
  return bytes;
}

}  // namespace inference::client
