#include "operator/client/watch_decoder.h"

#include <utility>

namespace inference::client {

namespace {

std::expected<WatchEvent, std::string> make_event(std::string_view type, Json object) {
  if (type == "ADDED") return Added{std::move(object)};
  if (type == "MODIFIED") return Modified{std::move(object)};
  if (type == "DELETED") return Deleted{std::move(object)};
  if (type == "ERROR") return WatchError{error_from_status(object)};
  if (type != "BOOKMARK") return std::unexpected("an event of an unknown type");
  const auto metadata = object.find("metadata");
  if (metadata == object.end() || !metadata->is_object()) return std::unexpected("a bookmark without metadata");
  const auto version = metadata->find("resourceVersion");
  if (version == metadata->end() || !version->is_string())
    return std::unexpected("a bookmark without resource version");
  Bookmark bookmark{.resource_version = version->get<std::string>()};
  if (const auto annotations = metadata->find("annotations");
      annotations != metadata->end() && annotations->is_object()) {
    const auto end = annotations->find("k8s.io/initial-events-end");
    bookmark.initial_events_end = end != annotations->end() && *end == "true";
  }
  return bookmark;
}

// Whether the event's object is a Status or a bookmark, and no object of the kind, for which a mask is made.
bool is_servers_own(const Json& event) {
  if (!event.is_object()) return false;
  const auto type = event.find("type");
  return type != event.end() && (*type == "ERROR" || *type == "BOOKMARK");
}

}  // namespace

std::expected<void, std::string> WatchDecoder::feed(std::string_view bytes,
                                                    const std::function<void(WatchEvent)>& on_event) {
  while (!bytes.empty()) {
    const std::size_t newline = bytes.find('\n');
    const std::string_view piece = bytes.substr(0, newline);
    if (partial_.size() + piece.size() > max_event_bytes_) {
      return std::unexpected("an event of more than " + std::to_string(max_event_bytes_) + " bytes");
    }
    if (newline == std::string_view::npos) {
      partial_ += piece;
      return {};
    }
    bytes.remove_prefix(newline + 1);
    // A line that came whole is parsed where it lies; the common case copies nothing.
    std::expected<void, std::string> done;
    if (partial_.empty()) {
      done = decode_line(piece, on_event);
    } else {
      partial_ += piece;
      done = decode_line(std::exchange(partial_, {}), on_event);
    }
    if (!done) return done;
  }
  return {};
}

std::expected<void, std::string> WatchDecoder::finish(const std::function<void(WatchEvent)>& on_event) {
  return decode_line(std::exchange(partial_, {}), on_event);
}

std::expected<void, std::string> WatchDecoder::decode_line(std::string_view line,
                                                           const std::function<void(WatchEvent)>& on_event) const {
  if (line.find_first_not_of(" \t\r") == std::string_view::npos) return {};
  auto event = mask_.parse(line, 1);
  if (event && is_servers_own(*event)) event = FieldMask().parse(line, 1);
  if (!event || !event->is_object()) return std::unexpected("a line that is no JSON object");
  const auto type = event->find("type");
  const auto object = event->find("object");
  if (type == event->end() || !type->is_string() || object == event->end() || !object->is_object()) {
    return std::unexpected("an event without type or object");
  }
  auto decoded = make_event(type->get_ref<const std::string&>(), std::move(*object));
  if (!decoded) return std::unexpected(std::move(decoded.error()));
  on_event(std::move(*decoded));
  return {};
}

}  // namespace inference::client
