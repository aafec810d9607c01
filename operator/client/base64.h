#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace inference::client {

/// Standard base64 (RFC 4648, section 4) as kubeconfig's …-data fields use it.
[[nodiscard]] std::string encode_base64(std::string_view bytes);
/// Line breaks and spaces are skipped, as people wrap long values; none when anything else is wrong.
[[nodiscard]] std::optional<std::string> decode_base64(std::string_view text);

}  // namespace inference::client
