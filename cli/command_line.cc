#include "cli/command_line.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <map>

#include "base/suggestions.h"
#include "base/utf8.h"
#include "cli/audit_command.h"
#include "cli/completion_command.h"
#include "cli/explain_command.h"
#include "cli/render_command.h"
#include "cli/status_command.h"
#include "cli/topology_command.h"
#include "cli/validate_command.h"
#include "cli/version_command.h"

namespace inference::cli {
namespace {

constexpr auto kDescription =
    "Renders, explains and validates InferenceDeployments, audits workloads with GPUs, and looks at what runs. Works "
    "as `kubectl inference`; only status, topology POD and audit --live ask a cluster.\n"
    "Exit codes: 0 done, 1 something was found wrong, 2 the command was used wrongly.";
constexpr auto kFooter =
    "Examples:\n"
    "  kubectl inference render -f llama.yaml --profile h100.yaml | kubectl diff -f -\n"
    "  kubectl inference explain -f llama.yaml --path Deployment/spec.replicas\n"
    "  cat *.yaml | kubectl inference validate -f -\n"
    "  kubectl inference status llama-70b -n llm\n"
    "  helm template . | kubectl inference audit -f -";
constexpr auto kClusterHelp =
    "What to take the cluster to serve, as a list: lws (LeaderWorkerSet), volcano (whose groups LeaderWorkerSet "
    "holds), volcano-policy (whose groups the policy of config/gang holds), native (Kubernetes' own PodGroups, with "
    "the "
    "policy of config/gang), kueue (with the queue that the spec names), dra (Dynamic Resource Allocation), "
    "compute-domain (NVIDIA's, which implies dra), none; those that hold groups imply lws. Without it "
    "LeaderWorkerSets, "
    "claims and a gang that the spec names are taken as served, and gang Auto finds none";
constexpr auto kPathHelp =
    "Only what is at or under it: spec.replicas, /spec/replicas, spec.template.spec.containers[name=engine], after an "
    "optional object: "
    "Deployment/spec.replicas, Service/llama-70b/spec.ports";
constexpr auto kTopologyFooter =
    "A pod has reported when its object has topologyCheck: Warn or Enforce. Any other:\n"
    "  kubectl exec POD -- nvidia-smi topo -m | kubectl inference topology --from -";
constexpr auto kStatusFooter =
    "It reads with your own rights: what you may not read (nodes are often closed to users) is named on standard "
    "error, "
    "and the answer is made of the rest.\n"
    "Exit codes: 0 the model is Ready, 1 it is not, 2 the command was used wrongly.";
constexpr auto kAuditFooter =
    "Reads Pods, Deployments, StatefulSets, DaemonSets, ReplicaSets, Jobs, CronJobs and LeaderWorkerSets, whoever "
    "wrote them, and judges those that run GPUs.\n"
    "Exit codes: 0 no error was found, 1 errors were found or a file could not be read, 2 the command was used "
    "wrongly.\n"
    "What is right as it is says so on the workload, or on its pod template, with a reason:\n"
    "  annotations: {audit.inference-operator.dev/ignore: \"rdma: the two nodes share one NVLink domain\"}";
constexpr auto kCompletionFooter =
    "For bash: source <(kubectl-inference completion bash)\n"
    "To complete `kubectl inference` itself, put an executable file kubectl_complete-inference on the PATH:\n"
    "  #!/bin/sh\n"
    "  exec kubectl-inference __complete \"$@\"";

/// The options of all commands as they were given.
struct Arguments {
  WorkspaceOptions workspace;
  TopologyOptions topology;
  StatusOptions status;
  AuditOptions audit;
  std::string path;
  std::string format;
  std::string shell;
};

void add_format(CLI::App& command, Arguments& arguments, const std::vector<std::string>& formats) {
  command.add_option("-o,--output", arguments.format, "Output format, " + formats.front() + " by default")
      ->check(CLI::IsMember(formats))
      ->type_name("FORMAT");
}

void add_files(CLI::App& command, Arguments& arguments) {
  command
      .add_option("-f,--filename", arguments.workspace.files,
                  "File with YAML or JSON documents, - for standard input; may be repeated")
      ->required()
      ->allow_extra_args(false)
      ->type_name("FILE");
  command
      .add_option("--profile", arguments.workspace.profile_file,
                  "File with the InferenceProfile for every object that names none, or that names this one")
      ->type_name("FILE");
}

void add_rendering(CLI::App& command, Arguments& arguments) {
  command
      .add_option("--templates", arguments.workspace.templates_folder,
                  "Folder with templates instead of the built-in ones, to try changes")
      ->type_name("DIR");
  command.add_option("--cluster", arguments.workspace.cluster, kClusterHelp)
      ->delimiter(',')
      ->allow_extra_args(false)
      ->check(CLI::IsMember({"lws", "volcano", "volcano-policy", "native", "kueue", "dra", "compute-domain", "none"}))
      ->type_name("KIND");
}

/// kubectl's own flags, for commands that ask a cluster.
void add_cluster(CLI::App& command, ClusterOptions& options) {
  command
      .add_option("--kubeconfig", options.kubeconfig,
                  "Kubeconfig file (default: $KUBECONFIG, then the pod's service account, then ~/.kube/config)")
      ->type_name("FILE");
  command.add_option("--context", options.context, "Context of the kubeconfig (default: the current one)")
      ->type_name("NAME");
  command.add_option("-n,--namespace", options.ns, "Namespace (default: the context's)")->type_name("NAME");
}

void add_topology(CLI::App& app, Arguments& arguments) {
  CLI::App* topology = app.add_subcommand("topology", "Say how the GPUs of a pod are linked, and whether that is good");
  topology->footer(kTopologyFooter);
  topology->add_option("pod", arguments.topology.pod, "Pod whose report is read from the cluster")->type_name("POD");
  topology
      ->add_option("--from", arguments.topology.from,
                   "File with the output of `nvidia-smi topo -m` instead, - for standard input; no cluster is asked")
      ->type_name("FILE");
  add_cluster(*topology, arguments.topology.cluster);
  add_format(*topology, arguments, {"text", "json"});
}

void add_status(CLI::App& app, Arguments& arguments) {
  CLI::App* status = app.add_subcommand("status", "Say why a model does not serve, and what to do next");
  status->footer(kStatusFooter);
  status->add_option("name", arguments.status.name, "InferenceDeployment")->required()->type_name("NAME");
  add_cluster(*status, arguments.status.cluster);
  add_format(*status, arguments, {"text", "json", "yaml"});
}

void add_audit(CLI::App& app, Arguments& arguments) {
  AuditOptions& options = arguments.audit;
  CLI::App* audit = app.add_subcommand("audit", "Say what is wrong with workloads that run GPUs, from any tool");
  audit->footer(kAuditFooter);
  audit
      ->add_option("-f,--filename", options.files,
                   "File or folder with YAML or JSON documents, - for standard input; may be repeated")
      ->allow_extra_args(false)
      ->type_name("FILE");
  audit->add_flag("--live", options.live, "Audit what runs in the cluster instead, with your own rights");
  audit->add_flag("-A,--all-namespaces", options.all_namespaces, "With --live: in all namespaces");
  add_cluster(*audit, options.cluster);
  audit->add_option("--severity", options.severity, "The least that is shown, info by default")
      ->check(CLI::IsMember({"error", "warn", "info"}))
      ->type_name("SEVERITY");
  audit->add_flag("--fix", options.fix,
                  "Print patches instead: a kustomize Component, or with -o json one JSON patch an object");
  add_format(*audit, arguments, {"text", "json", "sarif"});
}

/// The whole command line. `arguments` must outlive the app.
std::unique_ptr<CLI::App> make_app(Arguments& arguments) {
  auto app = std::make_unique<CLI::App>(kDescription, "kubectl inference");
  app->require_subcommand(1);
  app->set_version_flag("--version", "kubectl-inference " + version_text());
  app->get_formatter()->column_width(34);

  CLI::App* render = app->add_subcommand("render", "Print the objects that the operator would apply");
  add_files(*render, arguments);
  add_rendering(*render, arguments);
  add_format(*render, arguments, {"yaml", "json"});

  CLI::App* explain =
      app->add_subcommand("explain", "Say for each rendered line where it comes from and why it has its value");
  add_files(*explain, arguments);
  explain->add_option("--path", arguments.path, kPathHelp)->type_name("PATH");
  add_rendering(*explain, arguments);
  add_format(*explain, arguments, {"text", "json"});

  CLI::App* validate = app->add_subcommand("validate", "Check files as the API server and the operator would");
  add_files(*validate, arguments);

  add_status(*app, arguments);
  add_audit(*app, arguments);
  add_topology(*app, arguments);

  CLI::App* version = app->add_subcommand("version", "Print version, commit and the digest of the built-in templates");
  add_format(*version, arguments, {"text", "json"});

  CLI::App* completion = app->add_subcommand("completion", "Print a shell's completion script");
  completion->footer(kCompletionFooter);
  completion->add_option("shell", arguments.shell, "bash, zsh or fish")
      ->required()
      ->check(CLI::IsMember({"bash", "zsh", "fish"}))
      ->type_name("SHELL");
  app->footer(kFooter);  // last, since subcommands inherit what is there when they are added
  return app;
}

Outcome misuse(std::string_view message, const std::string& command) {
  const std::string of = command.empty() ? "" : " " + command;
  return {.code = ExitCode::kMisuse,
          .out = "",
          .err = "error: " + escape_for_terminal(message) + "\nSee: kubectl inference" + of + " --help\n"};
}

/// The parser only says that a command is missing; "" when the first word is one, or an option.
std::string unknown_command(const CLI::App& app, const std::vector<std::string>& arguments) {
  if (arguments.empty() || arguments.front().starts_with('-')) return "";
  std::vector<std::string> names;
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; }))
    names.push_back(command->get_name());
  if (std::ranges::find(names, arguments.front()) != names.end()) return "";
  return "there is no command " + arguments.front() + did_you_mean(arguments.front(), names);
}

/// What stands where the command expects nothing, which the parser tells backwards and after what is missing because of
/// it; "" when there is no such word.
std::string unexpected_word(const CLI::App& command) {
  const std::vector<std::string> words = command.remaining();
  if (words.empty()) return "";
  const auto option =
      std::ranges::find_if(words, [](const std::string& word) { return word.size() > 1 && word.starts_with('-'); });
  if (option != words.end()) {
    const std::string name = option->substr(0, option->find('='));
    std::vector<std::string> names;
    for (const CLI::Option* known : command.get_options()) {
      for (const std::string& long_name : known->get_lnames()) names.push_back("--" + long_name);
    }
    return "there is no option " + name + (name.starts_with("--") ? did_you_mean(name, names) : "");
  }
  const bool takes_files = command.get_option_no_throw("--filename") != nullptr;
  return words.front() + " is not expected here" + (takes_files ? "; if it is a file, write -f " + words.front() : "");
}

std::string chosen_command(const CLI::App& app) {
  const auto chosen = app.get_subcommands();
  return chosen.empty() ? "" : chosen.front()->get_name();
}

AuditFormat audit_format(const std::string& name) {
  return name == "json" ? AuditFormat::kJson : name == "sarif" ? AuditFormat::kSarif : AuditFormat::kText;
}

Outcome dispatch(const std::string& command, const Arguments& arguments) {
  static const std::map<std::string, OutputFormat, std::less<>> kFormats = {
      {"yaml", OutputFormat::kYaml}, {"json", OutputFormat::kJson}, {"text", OutputFormat::kText}};
  const auto format_or = [&arguments](OutputFormat otherwise) {
    return arguments.format.empty() ? otherwise : kFormats.at(arguments.format);
  };
  if (command == "render") return run_render(arguments.workspace, format_or(OutputFormat::kYaml));
  if (command == "explain") return run_explain(arguments.workspace, arguments.path, format_or(OutputFormat::kText));
  if (command == "validate") return run_validate(arguments.workspace);
  if (command == "status") return run_status(arguments.status, format_or(OutputFormat::kText));
  if (command == "audit") return run_audit(arguments.audit, audit_format(arguments.format));
  if (command == "topology") return run_topology(arguments.topology, format_or(OutputFormat::kText));
  if (command == "version") return run_version(format_or(OutputFormat::kText));
  return run_completion(arguments.shell);
}

std::string audit_contradiction(const AuditOptions& options, const std::string& format) {
  const ClusterOptions& cluster = options.cluster;
  if (options.live != options.files.empty()) return "audit needs either -f FILE or --live";
  if (std::ranges::count(options.files, "-") > 1) return "standard input (-) can be read only once";
  if (std::ranges::find(options.files, "") != options.files.end()) return "-f needs the name of a file";
  const bool asks_cluster =
      options.all_namespaces || !cluster.ns.empty() || !cluster.context.empty() || !cluster.kubeconfig.empty();
  if (asks_cluster && !options.live) return "--kubeconfig, --context, --namespace and --all-namespaces need --live";
  if (options.all_namespaces && !cluster.ns.empty()) return "--namespace and --all-namespaces exclude each other";
  if (options.fix && format == "sarif") return "--fix prints YAML, or JSON with -o json";
  return "";
}

/// What is wrong with the options although each was parsed; "" when all is well.
std::string contradiction(const std::string& command, const Arguments& arguments) {
  if (command == "audit") return audit_contradiction(arguments.audit, arguments.format);
  if (command == "topology" && arguments.topology.pod.empty() == arguments.topology.from.empty())
    return "topology needs either a POD or --from FILE";
  if (const auto fault = path_option_fault(arguments.path)) {
    return "--path " + arguments.path + ": at character " + std::to_string(fault->position) + ": " + fault->message;
  }
  const WorkspaceOptions& options = arguments.workspace;
  std::vector<std::string> inputs = options.files;
  inputs.push_back(options.profile_file);
  if (std::ranges::count(inputs, "-") > 1) return "standard input (-) can be read only once";
  const bool none = std::ranges::find(options.cluster, "none") != options.cluster.end();
  if (none && options.cluster.size() > 1) return "--cluster none excludes all else";
  if (std::ranges::find(inputs.begin(), inputs.end() - 1, "") != inputs.end() - 1) return "-f needs the name of a file";
  return "";
}

}  // namespace

Outcome run(std::vector<std::string> arguments) {
  Arguments parsed;
  const std::unique_ptr<CLI::App> app = make_app(parsed);
  // Not a subcommand: what follows is half a command line, which the parser would refuse.
  if (!arguments.empty() && arguments.front() == "__complete")
    return run_complete(*app, {arguments.begin() + 1, arguments.end()});
  if (const std::string fault = unknown_command(*app, arguments); !fault.empty()) return misuse(fault, "");
  std::ranges::reverse(arguments);  // the parser takes them from the back
  try {
    app->parse(std::move(arguments));
  } catch (const CLI::CallForHelp&) {
    const auto chosen = app->get_subcommands();
    return {.code = ExitCode::kOk,
            .out = chosen.empty() ? app->help() : chosen.front()->help("kubectl inference"),
            .err = ""};
  } catch (const CLI::CallForVersion& version) {
    return {.code = ExitCode::kOk, .out = std::string(version.what()) + "\n", .err = ""};
  } catch (const CLI::ParseError& error) {
    const auto chosen = app->get_subcommands();
    const std::string unexpected = unexpected_word(chosen.empty() ? *app : *chosen.front());
    return misuse(unexpected.empty() ? error.what() : unexpected, chosen_command(*app));
  }
  const std::string command = chosen_command(*app);
  if (const std::string fault = contradiction(command, parsed); !fault.empty()) return misuse(fault, command);
  return dispatch(command, parsed);
}

}  // namespace inference::cli
