// What config/prometheus asks for is what /metrics serves. promtool checks the queries themselves
// (e2e/prometheus_test.sh).

#include <gtest/gtest.h>

#include <fstream>
#include <regex>
#include <set>
#include <sstream>

#include "base/json.h"
#include "base/source_path.h"
#include "base/yaml_reader.h"
#include "operator/runtime/metrics.h"

namespace inference::runtime {
namespace {

std::string read(const std::string& name) {
  std::ifstream file(source_path("config/prometheus/") + name);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

Json rules() {
  const auto documents = read_yaml_documents(read("rules.yaml"));
  if (!documents || documents->size() != 1) return Json::array();
  return documents->front().value.at(Json::json_pointer("/spec/groups/0/rules"));
}

/// Every query of the rules and of the dashboard.
std::vector<std::string> queries() {
  std::vector<std::string> found;
  for (const Json& rule : rules()) found.push_back(rule.at("expr"));
  const Json dashboard = Json::parse(read("dashboard.json"));
  for (const Json& panel : dashboard.at("panels")) {
    for (const Json& target : panel.at("targets")) found.push_back(target.at("expr"));
  }
  return found;
}

/// The names of all series that /metrics can show, and the names of their labels.
std::map<std::string, std::set<std::string>> served() {
  Metrics metrics;
  (void)metrics.queue("q");
  (void)metrics.controller("c");
  (void)metrics.informer("i");
  (void)metrics.leader("l");
  metrics.count_request("get", 200);
  metrics.set_gpus("ns", "m", {});
  std::map<std::string, std::set<std::string>> series;
  std::istringstream lines(metrics.to_text());
  const std::regex label("(\\w+)=\"");
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("#")) continue;
    const std::string head = line.substr(0, line.rfind(' '));
    std::set<std::string>& labels = series[head.substr(0, head.find('{'))];
    for (std::sregex_iterator match(head.begin(), head.end(), label), end; match != end; ++match)
      labels.insert((*match)[1]);
  }
  series["up"] = {};  // Prometheus' own
  return series;
}

struct Selector {
  std::string metric;
  std::string matchers;
};

/// The query's selectors. What is left of it goes to `rest`.
std::vector<Selector> selectors(const std::string& query, std::string& rest) {
  const std::regex selector("([a-zA-Z_:][\\w:]*)\\{([^}]*)\\}");
  std::vector<Selector> found;
  for (std::sregex_iterator match(query.begin(), query.end(), selector), end; match != end; ++match)
    found.push_back({.metric = (*match)[1], .matchers = (*match)[2]});
  rest = std::regex_replace(query, selector, "");
  return found;
}

TEST(Monitoring, AsksOnlyForSeriesAndLabelsThatAreServed) {
  const auto series = served();
  const std::regex name("[a-zA-Z_]\\w*");
  const std::regex matched("(\\w+)=");
  const std::set<std::string> words = {"absent",  "sum", "max", "by", "rate", "increase", "histogram_quantile",
                                       "instance"};
  for (const std::string& query : queries()) {
    SCOPED_TRACE(query);
    std::string rest;
    std::set<std::string> labels = words;
    for (const auto& [metric, matchers] : selectors(query, rest)) {
      ASSERT_TRUE(series.contains(metric)) << metric;
      labels.insert(series.at(metric).begin(), series.at(metric).end());
      // The names are shared with other controllers.
      EXPECT_TRUE(matchers.starts_with("job=\"inference-operator\"")) << matchers;
      for (std::sregex_iterator match(matchers.begin(), matchers.end(), matched), end; match != end; ++match) {
        const std::string label = (*match)[1];
        EXPECT_TRUE(label == "job" || series.at(metric).contains(label)) << label;
      }
    }
    // What is left are functions, and the labels that they group by: a metric without a selector would show here.
    rest = std::regex_replace(rest, std::regex("\\[[^\\]]*\\]"), "");
    for (std::sregex_iterator match(rest.begin(), rest.end(), name), end; match != end; ++match)
      EXPECT_TRUE(labels.contains(match->str())) << match->str();
  }
}

TEST(Monitoring, ShowsEverySeriesThatIsServed) {
  std::set<std::string> shown;
  for (const std::string& query : queries()) {
    std::string rest;
    for (const Selector& selector : selectors(query, rest)) shown.insert(selector.metric);
  }
  for (const auto& [metric, labels] : served()) {
    if (metric.ends_with("_sum") || metric.ends_with("_count")) continue;
    if (metric == "workqueue_work_duration_seconds_bucket") continue;  // the same as the duration of a reconcile
    EXPECT_TRUE(shown.contains(metric)) << metric << " is on no panel and in no rule";
  }
}

TEST(Monitoring, TellsForEachAlertWhatToDoAndProvesThatItFires) {
  const std::string tests = read("rules_test.yaml");
  const Json all = rules();
  ASSERT_FALSE(all.empty());
  for (const Json& rule : all) {
    const std::string alert = rule.value("alert", "");
    SCOPED_TRACE(alert);
    EXPECT_FALSE(rule.at("annotations").value("runbook", "").empty());
    EXPECT_FALSE(rule.at("annotations").value("summary", "").empty());
    EXPECT_TRUE(rule.at("labels").contains("severity"));
    EXPECT_NE(tests.find("alertname=\"" + alert + "\""), std::string::npos);
  }
}

TEST(Metrics, ForgetAModelThatIsGone) {
  Metrics metrics;
  metrics.set_gpus("ns", "a", {.requested = 16, .allocated = 8, .leaked = 0});
  metrics.set_gpus("ns", "b", {.requested = 8, .allocated = 8, .leaked = 8});
  metrics.forget_gpus("ns", "a");
  metrics.forget_gpus("ns", "never-there");
  const std::string text = metrics.to_text();
  EXPECT_EQ(text.find("name=\"a\""), std::string::npos) << text;
  EXPECT_NE(text.find("inference_gpus_leaked{name=\"b\",namespace=\"ns\"} 8"), std::string::npos) << text;
  EXPECT_EQ(text.find("never-there"), std::string::npos);
}

}  // namespace
}  // namespace inference::runtime
