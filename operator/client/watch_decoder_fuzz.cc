// The bytes of a watch, split where the first eight bytes say, which choose the mask, too: the events are those of one
// whole chunk.

#include <array>
#include <vector>

#include "base/fuzzing.h"
#include "operator/client/watch_decoder.h"

namespace inference::client {
namespace {

constexpr std::size_t kSplits = 8;
constexpr std::size_t kLongestPiece = 64;
constexpr std::size_t kMaxEventBytes = 600;  // small, so that the limit is met, too

struct ToJson {
  Json operator()(const Added& event) const { return {"ADDED", event.object}; }
  Json operator()(const Modified& event) const { return {"MODIFIED", event.object}; }
  Json operator()(const Deleted& event) const { return {"DELETED", event.object}; }
  Json operator()(const Bookmark& event) const {
    return {"BOOKMARK", event.resource_version, event.initial_events_end};
  }
  Json operator()(const WatchError& event) const { return {"ERROR", event.error.to_string(), event.error.details}; }
};

/// What came of a stream: its events, and the error that ended it.
struct Outcome {
  std::vector<Json> events;
  std::string error;
  bool operator==(const Outcome&) const = default;
};

template <typename NextPiece>
Outcome decode(std::string_view bytes, const FieldMask& mask, NextPiece next_piece) {
  Outcome outcome;
  WatchDecoder decoder(kMaxEventBytes, mask);
  const auto keep = [&outcome](const WatchEvent& event) { outcome.events.push_back(std::visit(ToJson{}, event)); };
  while (!bytes.empty()) {
    const std::string_view piece = bytes.substr(0, next_piece());
    bytes.remove_prefix(piece.size());
    if (const auto fed = decoder.feed(piece, keep); !fed) {
      outcome.error = fed.error();
      return outcome;
    }
  }
  if (const auto finished = decoder.finish(keep); !finished) outcome.error = finished.error();
  return outcome;
}

const FieldMask& mask_of(char choice) {
  static const std::array kMasks = {FieldMask(), FieldMask::without({"metadata.managedFields"}),
                                    FieldMask::only({"spec"})};
  return kMasks[static_cast<unsigned char>(choice) % kMasks.size()];
}

void check(std::string_view splits, std::string_view bytes) {
  const FieldMask& mask = mask_of(splits.front());
  std::size_t next = 0;
  const Outcome whole = decode(bytes, mask, [] { return std::string_view::npos; });
  const Outcome split = decode(
      bytes, mask, [&] { return 1 + static_cast<unsigned char>(splits[next++ % splits.size()]) % kLongestPiece; });
  if (whole != split)
    broken("the events are those of one whole chunk", Json(whole.events).dump() + Json(split.events).dump());
}

}  // namespace
}  // namespace inference::client

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace inference;
  const std::string_view text = fuzz_text(data, size);
  if (text.size() > client::kSplits) client::check(text.substr(0, client::kSplits), text.substr(client::kSplits));
  return 0;
}
