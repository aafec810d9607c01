#include "crd/field_error.h"

namespace inference::crd {

std::string to_string(const FieldError& error) {
  return error.path.empty() ? error.message : error.path + ": " + error.message;
}

}  // namespace inference::crd
