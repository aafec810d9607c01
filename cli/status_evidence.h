#pragma once

#include <expected>
#include <string>

#include "diagnose/evidence.h"
#include "operator/client/api_client.h"

namespace inference::cli {

/// Reads all that tells why a model does not serve, with the rights of the caller. A part that can't be read is named
/// in `unread` instead; the error is of the object itself, on one line. An object that is not there is no error.
[[nodiscard]] std::expected<diagnose::Evidence, std::string> gather_evidence(client::ApiClient& api,
                                                                             const client::ObjectRef& model);

}  // namespace inference::cli
