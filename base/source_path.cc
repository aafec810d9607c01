#include "base/source_path.h"

namespace inference {

std::string source_path(std::string_view relative) {
  return std::string(SOURCE_DIR "/").append(relative);
}

}  // namespace inference
