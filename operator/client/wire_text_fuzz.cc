// The small texts that others write: URLs, Retry-After, error bodies, base64, times, segments of a path.

#include <algorithm>
#include <chrono>
#include <cstdio>

#include "base/fuzzing.h"
#include "operator/client/api_error.h"
#include "operator/client/base64.h"
#include "operator/client/exec_plugin.h"
#include "operator/client/percent_encoding.h"
#include "operator/client/server_url.h"

namespace inference::client {
namespace {

void check_url(std::string_view text) {
  const auto url = parse_server_url(text);
  if (!url) {
    if (url.error().empty()) broken("an error says what is wrong");
    return;
  }
  if (url->host.empty() || url->port < 1 || url->port > 65535) broken("a URL has a host and a port", text);
  if (!url->path.empty() && (url->path.front() != '/' || url->path.back() == '/'))
    broken("a path is trimmed", url->path);
  const auto again = parse_server_url(url->origin() + url->path);
  if (!again || again->scheme != url->scheme || again->host != url->host || again->port != url->port ||
      again->path != url->path)
    broken("a URL put together again is the same", url->origin() + url->path);
}

void check_retry_after(std::string_view text) {
  const auto wait = error_from_response(429, "", text).retry_after;
  if (!wait) return;
  if (wait->count() < 1 || wait->count() > 86'400) broken("a wait is a second to a day", text);
  if (!std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; })) broken("a wait is a number", text);
}

void check_error_body(std::string_view body) {
  const ApiError error = error_from_response(500, body, "");
  if (error.code != 500 || error.to_string().empty()) broken("an error keeps its code");
}

void check_base64(std::string_view text) {
  if (decode_base64(encode_base64(text)) != std::string(text)) broken("base64 gives back what was put in");
  const auto decoded = decode_base64(text);
  if (decoded && decode_base64(encode_base64(*decoded)) != decoded) broken("base64 has one meaning", text);
}

void check_time(std::string_view text) {
  using namespace std::chrono;
  const auto time = parse_rfc3339(text);
  if (!time) return;
  const auto day = floor<days>(*time);
  const year_month_day date(day);
  if (date.year() < year{0} || date.year() > year{9999}) return;  // an offset led out of what can be written
  const hh_mm_ss clock(floor<seconds>(*time - day));
  char written[64];
  (void)std::snprintf(written, sizeof written, "%04d-%02u-%02uT%02d:%02d:%02dZ", static_cast<int>(date.year()),
                      static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()),
                      static_cast<int>(clock.hours().count()), static_cast<int>(clock.minutes().count()),
                      static_cast<int>(clock.seconds().count()));
  if (parse_rfc3339(written) != time) broken("a time written again is the same", written);
}

void check_segment(std::string_view text) {
  const std::string encoded = percent_encode(text);
  std::string decoded;
  for (std::size_t i = 0; i < encoded.size(); ++i) {
    if (static_cast<unsigned char>(encoded[i]) <= 0x20 ||
        std::string_view("/?#").find(encoded[i]) != std::string_view::npos)
      broken("nothing ends a segment", encoded);
    if (encoded[i] != '%') {
      decoded += encoded[i];
      continue;
    }
    decoded += static_cast<char>(std::stoi(encoded.substr(i + 1, 2), nullptr, 16));
    i += 2;
  }
  if (decoded != text) broken("a segment means what was put in", encoded);
}

}  // namespace
}  // namespace inference::client

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace inference::client;
  const std::string_view text = inference::fuzz_text(data, size);
  check_url(text);
  check_retry_after(text);
  check_error_body(text);
  check_base64(text);
  check_time(text);
  check_segment(text);
  return 0;
}
