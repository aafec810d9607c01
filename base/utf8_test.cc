#include "base/utf8.h"

#include <gtest/gtest.h>

namespace inference {
namespace {

TEST(Utf8, DecodesEachLength) {
  for (const auto& [text, value] : std::map<std::string, char32_t>{{"a", 'a'},
                                                                   {"\xC3\xA9", 0xE9},
                                                                   {"\xE2\x82\xAC", 0x20AC},
                                                                   {"\xF0\x9F\x98\x80", 0x1F600},
                                                                   {"\xF4\x8F\xBF\xBF", 0x10FFFF}}) {
    const CodePoint c = decode_utf8(text + "tail");
    EXPECT_TRUE(c.valid) << text;
    EXPECT_EQ(c.value, value);
    EXPECT_EQ(c.bytes, text.size());
  }
}

TEST(Utf8, RefusesWhatIsOverlongCutSurrogateOrTooLarge) {
  for (const std::string text :
       {"\x80", "\xC0\x80", "\xC1\xBF", "\xE0\x80\x80", "\xF0\x80\x80\x80", "\xED\xA0\x80", "\xF4\x90\x80\x80",
        "\xF5\x80\x80\x80", "\xFF", "\xC3", "\xE2\x82", "\xC3(", "\xE2\x82("}) {
    const CodePoint c = decode_utf8(text);
    EXPECT_FALSE(c.valid) << escape_for_terminal(text);
    EXPECT_EQ(c.bytes, 1U);
  }
}

TEST(Utf8, EscapesWhatCouldDriveATerminal) {
  EXPECT_EQ(escape_for_terminal("plain \xC3\xA9\xF0\x9F\x98\x80"), "plain \xC3\xA9\xF0\x9F\x98\x80");
  EXPECT_EQ(escape_for_terminal("a\nb\tc\rd"), "a\\nb\\tc\\x0Dd");
  EXPECT_EQ(escape_for_terminal("\x1b[31m\xFF\x7F"), "\\x1B[31m\\xFF\\x7F");
  EXPECT_EQ(escape_for_terminal("\xC2\x9B"
                                "1m"),
            "\\x9B1m")
      << "C1's CSI";
  EXPECT_EQ(escape_for_terminal("\xE2\x80\xAE"
                                "fdp.exe"),
            "\\u202Efdp.exe");
  EXPECT_EQ(escape_for_terminal(std::string("\0", 1)), "\\x00");
}

}  // namespace
}  // namespace inference
