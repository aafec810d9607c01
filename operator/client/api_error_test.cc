#include "operator/client/api_error.h"

#include <gtest/gtest.h>

namespace inference::client {
namespace {

using namespace std::chrono_literals;

TEST(ApiError, ReadsAStatus) {
  const ApiError error = error_from_response(
      409,
      R"({"kind":"Status","status":"Failure","message":"Apply failed with 1 conflict","reason":"Conflict","code":409,
               "details":{"causes":[{"reason":"FieldManagerConflict","field":".spec.replicas"}],"retryAfterSeconds":3}})",
      "");
  EXPECT_EQ(error.kind, ApiError::Kind::kStatus);
  EXPECT_TRUE(error.is_conflict());
  EXPECT_FALSE(error.is_already_exists());
  EXPECT_EQ(error.retry_after, 3s);
  EXPECT_EQ(error.details["causes"][0]["field"], ".spec.replicas");
  EXPECT_EQ(error.to_string(), "409 Conflict: Apply failed with 1 conflict");
}

TEST(ApiError, TellsTheKindsOf409Apart) {
  const ApiError exists = error_from_response(409, R"({"kind":"Status","reason":"AlreadyExists"})", "");
  EXPECT_TRUE(exists.is_already_exists());
  EXPECT_FALSE(exists.is_conflict());
}

TEST(ApiError, QuotesABodyThatIsNoStatusWithoutItsControlCharacters) {
  const ApiError error =
      error_from_response(502, std::string("<html>\r\nBad\x1b[31m gateway") + std::string(1000, '.'), "");
  EXPECT_EQ(error.code, 502);
  EXPECT_TRUE(error.message.starts_with("<html>  Bad [31m gateway.."));
  EXPECT_LT(error.message.size(), 250U);
  for (const char* body :
       {"", "null", "[]", R"({"kind":"Pod"})", R"({"kind":"Status","code":"x","reason":1,"message":[],"details":7})"}) {
    EXPECT_EQ(error_from_response(500, body, "").code, 500) << body;
  }
}

TEST(ApiError, TakesRetryAfterFromTheHeaderFirst) {
  const char* body = R"({"kind":"Status","details":{"retryAfterSeconds":3}})";
  EXPECT_EQ(error_from_response(429, body, "7").retry_after, 7s);
  EXPECT_EQ(error_from_response(429, body, "").retry_after, 3s);
  for (const char* header : {"", "0", "-1", "soon", "1e9", "99999999999999999999", "100000", "7 "}) {
    EXPECT_EQ(error_from_response(429, "", header).retry_after, std::nullopt) << header;
  }
}

TEST(ApiError, ReadsTheObjectOfAWatchError) {
  const ApiError error =
      error_from_status({{"kind", "Status"}, {"code", 410}, {"reason", "Expired"}, {"message", "too old"}});
  EXPECT_TRUE(error.is_gone());
  EXPECT_EQ(error_from_status(Json("text")).code, 0);
}

TEST(ApiError, SaysWhatFailedBelowHttp) {
  const ApiError cut{.kind = ApiError::Kind::kCut, .message = "Failed to read"};
  EXPECT_EQ(cut.to_string(), "connection cut: Failed to read");
}

}  // namespace
}  // namespace inference::client
