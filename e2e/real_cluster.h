#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/json.h"
#include "operator/client/api_client.h"

namespace inference::e2e {

/// What a program printed and how it ended.
struct Output {
  int exit_code = -1;
  std::string text;  // standard output and error together
};

/// Runs a program without a shell and waits for it. `input` goes to its standard input.
[[nodiscard]] Output run(const std::vector<std::string>& command, const std::string& input = {});

/// A variable that `./dev test` sets. Without it the process ends with a line that says how to get it: a test that
/// can't run has failed.
[[nodiscard]] std::string environment(const char* name);

/// The control plane that `./dev test` started, as its administrator; with our CRDs, rights and admission policy
/// installed from config/.
class RealCluster {
 public:
  static RealCluster& instance();
  /// Another control plane of the same kind, e.g. one that lacks something. `install` says whether config/cluster is
  /// applied.
  enum class Install { kNo, kYes };
  RealCluster(std::string kubeconfig, Install install);

  [[nodiscard]] client::ApiClient& api() { return *api_; }
  [[nodiscard]] const std::string& kubeconfig() const { return kubeconfig_; }
  /// kubectl with this cluster's administrator.
  [[nodiscard]] Output kubectl(std::vector<std::string> arguments, const std::string& input = {}) const;
  /// The same, and the test fails when it does.
  Output must(std::vector<std::string> arguments, const std::string& input = {}) const;
  /// The API server's URL.
  [[nodiscard]] std::string server() const;
  /// A kubeconfig with a fresh token of a service account, which leads to `server`. The caller removes the file.
  [[nodiscard]] std::string account_kubeconfig(const std::string& ns, const std::string& account,
                                               const std::string& server) const;
  /// The same of the operator's: what it may do is config/rbac and nothing else.
  [[nodiscard]] std::string operator_kubeconfig(const std::string& server) const {
    return account_kubeconfig("inference-system", "inference-operator", server);
  }

  /// Whether the API server knows the kind.
  [[nodiscard]] bool serves(const client::Resource& resource);
  /// Null when it is not there.
  [[nodiscard]] Json get(const client::Resource& resource, const std::string& ns, const std::string& name);
  [[nodiscard]] std::vector<Json> list(const client::Resource& resource, const std::string& ns,
                                       const std::string& selector = {});
  /// Server-side apply as a user would.
  void apply(const Json& object);
  void remove(const client::Resource& resource, const std::string& ns, const std::string& name);

  /// Fake GPU nodes of a product that no other test asks for, each with `gpus` GPUs; removed by `remove_nodes`.
  void add_nodes(const std::string& product, int first, int count, int gpus = 8);
  void remove_nodes(const std::string& product);

  /// Writes by the operator's service account in a namespace so far, from the API server's audit log: verb and URI,
  /// oldest first.
  [[nodiscard]] std::vector<std::string> operator_writes(const std::string& ns) const;
  /// All writes by the operator's service account that have been answered so far: audit.k8s.io/v1 Events, oldest answer
  /// first.
  [[nodiscard]] std::vector<Json> operator_audit() const;

 private:
  std::string kubeconfig_;
  std::string kubectl_;
  SystemClock clock_;
  std::unique_ptr<client::ApiClient> api_;
};

/// A namespace of its own for one test; its deletion begins at the end of the test.
class Namespace {
 public:
  Namespace(RealCluster& cluster, const std::string& prefix);
  ~Namespace();
  Namespace(const Namespace&) = delete;
  Namespace& operator=(const Namespace&) = delete;
  [[nodiscard]] const std::string& name() const { return name_; }
  /// Deletes it now and waits until it is gone. To be called before its nodes are removed (a pod whose node is gone
  /// stays for a minute), and where so much is in it that its going would keep the next test's operator busy.
  void remove();

 private:
  RealCluster& cluster_;
  bool removed_ = false;
  std::string name_;
};

struct OperatorOptions {
  std::vector<std::string> flags = {};
  std::string server = {};      // empty: the cluster's own
  std::string kubeconfig = {};  // the caller's; empty: one with a fresh token of the operator's service account
  /// A process that was killed leaves a Lease that the next would have to wait for, and one on a machine that stands
  /// still for a while loses its own. Only a test of several processes at once wants that.
  enum class OldLease { kForget, kRespect } old_lease = OldLease::kForget;
};

/// The built operator as a process of its own, as its service account.
class OperatorProcess {
 public:
  explicit OperatorProcess(const RealCluster& cluster, const OperatorOptions& options = {});
  ~OperatorProcess();
  OperatorProcess(const OperatorProcess&) = delete;
  OperatorProcess& operator=(const OperatorProcess&) = delete;

  void send(int signal) const;
  /// Waits for the end, at most a minute, then kills it: it gives itself 5 s, and what the sanitizers and a loaded
  /// machine add took ten more. The exit code, or 128 + signal.
  int wait();
  /// Both.
  int stop(int signal);
  [[nodiscard]] std::string log() const;
  [[nodiscard]] bool running() const;

 private:
  std::string kubeconfig_;  // ours to remove; empty: the caller's
  std::string log_file_;
  int pid_ = -1;
};

/// Calls `holds` every `interval` until it is true, at most `limit`; whether it became true. The limit only ends what
/// will never be: it is far above what a loaded machine needs.
[[nodiscard]] bool eventually(const std::function<bool()>& holds,
                              std::chrono::seconds limit = std::chrono::seconds{240},
                              std::chrono::milliseconds interval = std::chrono::milliseconds{100});

/// `True/AllReplicasReady`, or empty: a condition of an InferenceDeployment (null is allowed).
[[nodiscard]] std::string condition(const Json& object, const std::string& type);
[[nodiscard]] std::string condition_message(const Json& object, const std::string& type);

}  // namespace inference::e2e
