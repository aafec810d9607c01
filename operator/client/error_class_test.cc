#include "operator/client/error_class.h"

#include <gtest/gtest.h>

namespace inference::client {
namespace {

using Kind = ApiError::Kind;
using Remedy = ErrorClass::Remedy;
using namespace std::chrono_literals;

TEST(Classify, KnowsARemedyForEachAnswer) {
  const std::map<int, Remedy> cases = {{400, Remedy::kChange},  {401, Remedy::kBackoff}, {403, Remedy::kGrant},
                                       {404, Remedy::kBackoff}, {405, Remedy::kChange},  {408, Remedy::kBackoff},
                                       {409, Remedy::kRefetch}, {410, Remedy::kRefetch}, {413, Remedy::kChange},
                                       {415, Remedy::kChange},  {422, Remedy::kChange},  {429, Remedy::kBackoff},
                                       {302, Remedy::kBackoff}, {500, Remedy::kBackoff}, {502, Remedy::kBackoff},
                                       {503, Remedy::kBackoff}, {504, Remedy::kBackoff}};
  for (const auto& [code, remedy] : cases) {
    EXPECT_EQ(classify({.kind = Kind::kStatus, .code = code}), ErrorClass{.remedy = remedy}) << code;
  }
}

TEST(Classify, KnowsARemedyForEachWayToGetNoAnswer) {
  const std::map<Kind, Remedy> cases = {{Kind::kConnect, Remedy::kBackoff},   {Kind::kTls, Remedy::kBackoff},
                                        {Kind::kTimeout, Remedy::kBackoff},   {Kind::kCut, Remedy::kBackoff},
                                        {Kind::kCancelled, Remedy::kStop},    {Kind::kTooLarge, Remedy::kBackoff},
                                        {Kind::kMalformed, Remedy::kBackoff}, {Kind::kCredentials, Remedy::kBackoff},
                                        {Kind::kBadRequest, Remedy::kChange}};
  for (const auto& [kind, remedy] : cases) {
    EXPECT_EQ(classify({.kind = kind}).remedy, remedy) << static_cast<int>(kind);
  }
}

TEST(Classify, WaitsAsLongAsABusyServerAsks) {
  for (const int code : {429, 500, 503}) {
    EXPECT_EQ(classify({.kind = Kind::kStatus, .code = code, .retry_after = 7s}),
              (ErrorClass{.remedy = Remedy::kWait, .retry_after = 7s}))
        << code;
  }
  // A refusal stays one.
  EXPECT_EQ(classify({.kind = Kind::kStatus, .code = 422, .retry_after = 7s}).remedy, Remedy::kChange);
}

TEST(Classify, TakesAnObjectThatTheSchemaRefusesForOneToChange) {
  EXPECT_EQ(classify({.kind = Kind::kStatus,
                      .code = 500,
                      .message = "failed to create typed patch object (llm/m; apps/v1, Kind=Deployment): "
                                 ".spec.template.spec.bogus: field not declared in schema"})
                .remedy,
            Remedy::kChange);
}

TEST(Classify, TellsAMissingRightFromANamespaceThatIsGoing) {
  ApiError error{.kind = Kind::kStatus, .code = 403, .reason = "Forbidden", .message = "no"};
  EXPECT_EQ(classify(error).remedy, Remedy::kGrant);
  error.details = {{"causes", {{{"reason", "NamespaceTerminating"}}}}};
  EXPECT_EQ(classify(error).remedy, Remedy::kEnding);
  error.details = {{"causes", {"odd"}}};
  EXPECT_EQ(classify(error).remedy, Remedy::kGrant);
  error.details = {{"causes", "odd"}};
  EXPECT_EQ(classify(error).remedy, Remedy::kGrant);
}

}  // namespace
}  // namespace inference::client
