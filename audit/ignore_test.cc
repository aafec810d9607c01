#include "audit/ignore.h"

#include "audit/audit.h"
#include "audit/fixtures.h"

namespace inference::audit {
namespace {

using namespace fixtures;

/// good() without a readiness probe and a strategy, and with an annotation.
Json annotated(const std::string& pointer, const std::string& text) {
  Json object = without(without(good(), std::string(kEngine) + "/readinessProbe"), "/spec/strategy");
  return with(object, pointer + "/annotations", {{kIgnoreAnnotation, text}});
}

Verdict judge(const Json& object) {
  return audit({std::make_shared<const Json>(object)}).at(0);
}

/// The rules of what is found and of what is ignored; infos left out.
std::pair<Paths, Paths> rules_of(const Json& object) {
  const Verdict verdict = judge(object);
  Paths found;
  Paths ignored;
  for (const Finding& finding : verdict.findings) {
    if (finding.severity != Severity::kInfo) found.push_back(finding.rule);
  }
  for (const Ignored& entry : verdict.ignored) ignored.push_back(entry.finding.rule + ": " + entry.reason);
  return {found, ignored};
}

using Rules = std::pair<Paths, Paths>;

TEST(Ignore, TakesARuleWithAReason) {
  EXPECT_EQ(rules_of(annotated("/metadata", "readiness-probe: the mesh asks; rollout-surge : two nodes are spare ")),
            (Rules{{}, {"readiness-probe: the mesh asks", "rollout-surge: two nodes are spare"}}));
  EXPECT_EQ(rules_of(annotated("/metadata", "readiness-probe: see: the mesh;")),
            (Rules{{"rollout-surge"}, {"readiness-probe: see: the mesh"}}));
}

TEST(Ignore, TellsThatAReasonIsMissing) {
  for (const char* text : {"readiness-probe", "readiness-probe:", "readiness-probe: ;"})
    EXPECT_EQ(rules_of(annotated("/metadata", text)),
              (Rules{{"readiness-probe", "rollout-surge", "ignore-without-reason"}, {}}))
        << text;
  const Verdict verdict = judge(annotated("/metadata", "readiness-probe"));
  const auto complaint = std::ranges::find(verdict.findings, "ignore-without-reason", &Finding::rule);
  EXPECT_EQ(complaint->path, "metadata.annotations['audit.inference-operator.dev/ignore']");
  EXPECT_EQ(complaint->severity, Severity::kWarn);
}

TEST(Ignore, TellsThatThereIsNoSuchRule) {
  const Json object = annotated("/metadata", "rediness-probe: the mesh asks");
  EXPECT_EQ(rules_of(object), (Rules{{"readiness-probe", "rollout-surge", "ignore-unknown-rule"}, {}}));
  const Verdict verdict = judge(object);
  EXPECT_NE(std::ranges::find(verdict.findings, "ignore-unknown-rule", &Finding::rule)
                ->message.find("did you mean readiness-probe?"),
            std::string::npos);
}

TEST(Ignore, CountsOnThePodTemplateToo) {
  EXPECT_EQ(rules_of(annotated("/spec/template/metadata", "rollout-surge: spare; readiness-probe: mesh")).first,
            Paths{})
      << "the only template speaks for its workload";
  Json group = without(good_group(), std::string(kWorker) + "/containers/0/lifecycle");
  group = without(group, std::string(kLeader) + "/containers/0/lifecycle");
  group["spec"]["leaderWorkerTemplate"]["workerTemplate"]["metadata"]["annotations"] = {
      {kIgnoreAnnotation, "drain-hook: none"}};
  const Verdict verdict = judge(group);
  ASSERT_EQ(verdict.ignored.size(), 1U);
  EXPECT_TRUE(verdict.ignored[0].finding.pointer.starts_with(kWorker));
  EXPECT_EQ(verdict.findings[0].rule, "drain-hook");
}

}  // namespace
}  // namespace inference::audit
