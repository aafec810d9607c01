#include "operator/client/secret.h"

#include <openssl/crypto.h>

namespace inference::client {

Secret& Secret::operator=(const Secret& other) {
  if (this != &other) {
    wipe();
    value_ = other.value_;
  }
  return *this;
}

Secret& Secret::operator=(Secret&& other) noexcept {
  if (this != &other) {
    wipe();
    value_ = std::move(other.value_);
    other.wipe();
  }
  return *this;
}

// OpenSSL's, since a plain memset before a free is removed by the optimiser.
void Secret::wipe() noexcept {
  OPENSSL_cleanse(value_.data(), value_.size());
  value_.clear();
}

}  // namespace inference::client
