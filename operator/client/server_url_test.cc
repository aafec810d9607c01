#include "operator/client/server_url.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "operator/client/base64.h"

namespace inference::client {
namespace {

TEST(ServerUrl, HasItsParts) {
  const auto full = parse_server_url("HTTPS://api.example:6443/k8s/clusters/c-1/");
  ASSERT_TRUE(full);
  EXPECT_EQ(full->origin(), "https://api.example:6443");
  EXPECT_EQ(full->path, "/k8s/clusters/c-1");
  EXPECT_EQ(parse_server_url("https://10.0.0.1")->origin(), "https://10.0.0.1:443");
  EXPECT_EQ(parse_server_url("http://localhost/")->origin(), "http://localhost:80");
  const auto v6 = parse_server_url("https://[fd00::1]:6443");
  ASSERT_TRUE(v6);
  EXPECT_EQ(v6->host, "fd00::1");
  EXPECT_EQ(v6->origin(), "https://[fd00::1]:6443");
}

TEST(ServerUrl, RefusesOthers) {
  for (const char* text :
       {"", "localhost:8080", "https://", "https:///path", "https://:443", "ftp://host", "https://user:secret@host",
        "https://host:0", "https://host:65536", "https://host:x", "https://host:", "https://host?x", "https://host#x",
        "https://ho st", "https://host\r\n", "https://[fd00::1", "https://[fd00::1]x"}) {
    const auto url = parse_server_url(text);
    ASSERT_FALSE(url) << text;
    EXPECT_EQ(url.error().find("secret"), std::string::npos);
  }
}

TEST(ServerUrl, TellsAddressesFromNames) {
  for (const char* address : {"127.0.0.1", "::1", "fd00::1"}) EXPECT_TRUE(is_ip_address(address)) << address;
  for (const char* name : {"localhost", "1.2.3", "127.0.0.1.example", ""}) EXPECT_FALSE(is_ip_address(name)) << name;
}

TEST(Base64, RoundTrips) {
  for (const std::string& text : std::vector<std::string>{"", "a", "ab", "abc", "abcd", std::string("\0\xFF\x80", 3)}) {
    EXPECT_EQ(decode_base64(encode_base64(text)), text);
  }
  EXPECT_EQ(encode_base64("ab"), "YWI=");
  EXPECT_EQ(decode_base64("YW\nI= \r\n"), "ab") << "wrapped lines";
}

TEST(Base64, RefusesWhatIsNot) {
  for (const char* bad : {"a", "abc", "YWI", "YW=I", "====", "a===", "YW!=", "YWI=YWI="})
    EXPECT_FALSE(decode_base64(bad)) << bad;
}

}  // namespace
}  // namespace inference::client
