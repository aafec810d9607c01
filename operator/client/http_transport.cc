#include "operator/client/http_transport.h"

#include <utility>

#include "operator/client/transport_cpprest.h"
#include "operator/client/transport_curl.h"

namespace inference::client {

std::expected<std::unique_ptr<HttpTransport>, std::string> make_transport(TransportOptions options, Clock& clock) {
  return INFERENCE_MAKE_TRANSPORT(std::move(options), clock);
}

}  // namespace inference::client
