#include "operator/client/error_class.h"

#include <algorithm>

namespace inference::client {
namespace {

using Remedy = ErrorClass::Remedy;

/// The admission plugin NamespaceLifecycle refuses new objects with 403 and this cause.
bool names_ending_namespace(const ApiError& error) {
  const Json causes = error.details.is_object() ? error.details.value("causes", Json()) : Json();
  return causes.is_array() && std::ranges::any_of(causes, [](const Json& cause) {
           return cause.is_object() && cause.value("reason", Json()) == "NamespaceTerminating";
         });
}

/// What server-side apply says of a field that the kind has not, or of another type, is a 500 (structured-merge-diff's
/// error is passed on as it is).
bool names_unfit_object(const ApiError& error) {
  return error.code == 500 && error.message.find("failed to create typed patch object") != std::string::npos;
}

Remedy remedy_of_status(const ApiError& error) {
  if (names_unfit_object(error)) return Remedy::kChange;
  switch (error.code) {
    case 409:
    case 410:
      return Remedy::kRefetch;
    case 403:
      return names_ending_namespace(error) ? Remedy::kEnding : Remedy::kGrant;
    case 401:  // the token may be renewed
    case 404:
    case 408:
    case 429:
      return Remedy::kBackoff;
    default:
      return error.code >= 400 && error.code < 500 ? Remedy::kChange : Remedy::kBackoff;
  }
}

}  // namespace

ErrorClass classify(const ApiError& error) {
  using Kind = ApiError::Kind;
  switch (error.kind) {
    case Kind::kCancelled:
      return {.remedy = Remedy::kStop};
    case Kind::kBadRequest:
      return {.remedy = Remedy::kChange};
    case Kind::kConnect:
    case Kind::kTls:
    case Kind::kTimeout:
    case Kind::kCut:
    case Kind::kTooLarge:
    case Kind::kMalformed:
    case Kind::kCredentials:
      return {.remedy = Remedy::kBackoff};
    case Kind::kStatus:
      break;
  }
  const Remedy remedy = remedy_of_status(error);
  if (remedy == Remedy::kBackoff && error.retry_after) {
    return {.remedy = Remedy::kWait, .retry_after = error.retry_after};
  }
  return {.remedy = remedy};
}

}  // namespace inference::client
