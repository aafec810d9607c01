#include "base/logging.h"

#include <spdlog/logger.h>
#include <spdlog/pattern_formatter.h>
#include <spdlog/sinks/stdout_sinks.h>

#include <algorithm>
#include <atomic>
#include <memory>

#include "base/json.h"

namespace inference::log {
namespace {

constexpr auto kTextPattern = "%Y-%m-%dT%H:%M:%S.%eZ %l %v";
// %v carries the quoted message and the fields: what needs escaping is escaped before it gets here.
constexpr auto kJsonPattern = R"({"ts":"%Y-%m-%dT%H:%M:%S.%eZ","level":"%l","msg":%v})";

/// The process' one logger. Made on first use, so that a program that never logs pays nothing at start.
struct Output {
  spdlog::logger logger{"inference", std::make_shared<spdlog::sinks::stderr_sink_mt>()};
  std::atomic<Format> format{Format::kText};

  Output() { use(Level::kInfo, Format::kText); }
  void use(Level level, Format new_format);
};

Output& output() {
  static Output instance;
  return instance;
}

spdlog::level::level_enum to_spdlog(Level level) {
  switch (level) {
    case Level::kDebug:
      return spdlog::level::debug;
    case Level::kInfo:
      return spdlog::level::info;
    case Level::kWarning:
      return spdlog::level::warn;
    case Level::kError:
      return spdlog::level::err;
  }
  return spdlog::level::err;
}

void Output::use(Level level, Format new_format) {
  format = new_format;
  logger.set_level(to_spdlog(level));
  logger.set_pattern(new_format == Format::kJson ? kJsonPattern : kTextPattern, spdlog::pattern_time_type::utc);
}

/// Values come from clusters and files: bytes that are no UTF-8 are replaced, they must never make a log line fail.
std::string json_string(std::string_view text) {
  return Json(text).dump(-1, ' ', false, Json::error_handler_t::replace);
}

/// A value that would make `key=value` ambiguous, or that could forge a line of its own, needs quotes.
bool needs_quotes(std::string_view text) {
  return text.empty() || std::ranges::any_of(text, [](unsigned char c) {
           return c <= ' ' || c >= 0x7f || c == '"' || c == '=' || c == '\\';
         });
}

}  // namespace

void configure(Level level, Format format) {
  output().use(level, format);
}

void write(Level level, std::string_view message, std::initializer_list<Field> fields) {
  Output& out = output();
  const auto spdlog_level = to_spdlog(level);
  if (!out.logger.should_log(spdlog_level)) return;
  const bool json = out.format == Format::kJson;
  std::string line = json ? json_string(message) : std::string(message);
  for (const Field& field : fields) {
    if (json) {
      line.append(",").append(json_string(field.key)).append(":").append(json_string(field.value));
    } else {
      line.append(" ").append(field.key).append("=").append(needs_quotes(field.value) ? json_string(field.value)
                                                                                      : field.value);
    }
  }
  out.logger.log(spdlog_level, spdlog::string_view_t(line.data(), line.size()));
}

}  // namespace inference::log
