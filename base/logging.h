#pragma once

#include <initializer_list>
#include <string>
#include <string_view>

namespace inference::log {

enum class Level { kDebug, kInfo, kWarning, kError };
enum class Format { kText, kJson };

/// One key/value pair of a log line. Values are what varies; messages are constant text, so that lines can be searched
/// and counted.
struct Field {
  std::string_view key;
  std::string value;
};

/// Sets level and format of everything logged from now on, to standard error. Call once, first thing in main; the
/// default is text at info.
void configure(Level level, Format format);

/// Writes one line. Thread-safe. `message` is constant text in the imperative or past tense without trailing stop.
void write(Level level, std::string_view message, std::initializer_list<Field> fields = {});

inline void debug(std::string_view message, std::initializer_list<Field> fields = {}) {
  write(Level::kDebug, message, fields);
}
inline void info(std::string_view message, std::initializer_list<Field> fields = {}) {
  write(Level::kInfo, message, fields);
}
inline void warning(std::string_view message, std::initializer_list<Field> fields = {}) {
  write(Level::kWarning, message, fields);
}
inline void error(std::string_view message, std::initializer_list<Field> fields = {}) {
  write(Level::kError, message, fields);
}

}  // namespace inference::log
