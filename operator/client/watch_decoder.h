#pragma once

#include <cstddef>
#include <expected>
#include <functional>
#include <string>
#include <string_view>

#include "operator/client/field_mask.h"
#include "operator/client/watch_event.h"

namespace inference::client {

/// Turns the bytes of a watch, split anywhere, into events. The API server sends one JSON object a line. Not
/// thread-safe; does no I/O.
class WatchDecoder {
 public:
  /// An event of more than `max_event_bytes` is an error: what is buffered stays bounded by it.
  /// Of the objects only what `mask` keeps is built.
  explicit WatchDecoder(std::size_t max_event_bytes, FieldMask mask = {})
      : max_event_bytes_(max_event_bytes), mask_(std::move(mask)) {}

  /// Calls `on_event` for each event that is complete. The error says what the bytes are instead; nothing may be fed
  /// after one.
  [[nodiscard]] std::expected<void, std::string> feed(std::string_view bytes,
                                                      const std::function<void(WatchEvent)>& on_event);

  /// To be called when the stream has ended in good order: an event begun and not finished is an error.
  [[nodiscard]] std::expected<void, std::string> finish(const std::function<void(WatchEvent)>& on_event);

 private:
  std::expected<void, std::string> decode_line(std::string_view line,
                                               const std::function<void(WatchEvent)>& on_event) const;

  std::size_t max_event_bytes_;
  FieldMask mask_;
  std::string partial_;  // the beginning of a line whose end has not come yet; never contains a newline
};

}  // namespace inference::client
