//===- mx-sim.cpp - Command line of the simulator -------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// User guide: simulator/docs/Simulator.md.
//===----------------------------------------------------------------------===//

#include "Run.h"

#include "mxsim/ExitStatus.h"
#include "mxsim/Report.h"
#include "mxsim/RunOptions.h"
#include "mxsim/io/InputFile.h"
#include "mxsim/io/Memory.h"
#include "mxsim/io/Notices.h"
#include "mxsim/io/OutputFile.h"
#include "mxsim/io/Printable.h"

#include <CLI/CLI.hpp>

#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <iomanip>
#include <iostream>
#include <unistd.h>

using namespace mx::sim;
namespace fs = std::filesystem;

namespace {

/// Value that CLI11 assigns to a flag without a value.
constexpr const char *kNoValue = "true";
constexpr const char *kBoldRed = "\033[0;1;31m", *kBoldMagenta = "\033[0;1;35m";

struct Options {
  CLI::App app{"Runs PTX kernels; for programs: mx-sim run --help", "mx-sim"};
  std::vector<std::string> inputs, figures;
  std::string checks = "all", sums = "exact", data = "values";
  std::string report, sarif, timeline, trace, time, machineCode, clock, without,
      timeLines, kernel;
  uint64_t seed = 0;
  unsigned jobs = 0, timelineCtas = 0;
  bool anyPath = false, werror = false, stats = false, quiet = false,
       list = false, asTemplate = false;

  Options();
  bool isGiven(const char *option) const { return app.count(option) > 0; }
};

Options::Options() {
  app.set_version_flag("--version", "mx-sim " MXSIM_VERSION);
  app.add_option("inputs", inputs, "Files")
      ->option_text("[KERNEL.ptx ...] LAUNCH.json");
  auto add = [&](const char *name, auto &value, const char *text,
                 const char *about) {
    return app.add_option(name, value, about)->option_text(text);
  };
  add("--checks", checks, "LIST",
      "Checks: all (default), none, or a list; -NAME disables a check");
  app.add_flag("--any-path", anyPath,
               "Let the launch file read and write any path, not only files "
               "in its folder");
  app.add_flag("--werror", werror, "Treat warnings as errors (exit status 1)");
  add("--seed", seed, "N",
      "Order of warps, CTAs and asynchronous completions; 0 (default) is the "
      "fastest to simulate");
  add("--jobs", jobs, "N", "Host threads; 0 (default): one per core");
  add("--sums", sums, "exact|truncated",
      "Sums of tensor cores: exact, with one rounding per K step (default), "
      "or with terms truncated relative to the largest term, as in hardware")
      ->check(CLI::IsMember({"exact", "truncated"}));
  add("--report", report, "FILE", "Write findings and counts as JSON");
  add("--sarif", sarif, "FILE", "Write findings as SARIF 2.1.0");
  add("--timeline", timeline, "FILE",
      "Write an HTML page that shows the first CTAs over simulated steps");
  add("--trace", trace, "FILE",
      "With --time: write a trace of the first CTAs for ui.perfetto.dev");
  add("--timeline-ctas", timelineCtas, "N",
      "Number of CTAs in the timeline or trace, rounded up to whole clusters; "
      "default: two clusters");
  // Flags: a following word is a file, not a value.
  app.add_flag("--time", time,
               "Model the time of kernels on a chip (--time=h200, the default, "
               "or --time=b200), and print the time to standard error");
  app.add_flag("--time-lines", timeLines,
               "With --time: print the N lines (--time-lines=N, default 10) "
               "at which warps spend most cycles, and write all lines to the "
               "report");
  add("--machine-code", machineCode, "FILE",
      "Take instruction costs from an nvdisasm listing of the same PTX, made "
      "by simulator/scripts/list-machine-code");
  add("--data", data, "values|none",
      "Compute all values (default), or with --time only values that affect "
      "the time; results are then meaningless")
      ->check(CLI::IsMember({"values", "none"}));
  add("--clock", clock, "MHZ|sustained",
      "With --time: the clock in MHz, or the clock under sustained load; "
      "default: the clock of a single launch, which MMAs lower");
  add("--time-figure", figures, "KEY=NUMBER",
      "With --time: override a figure of the chip, for example "
      "wgmma-latency=60; repeatable")
      ->allow_extra_args(false);
  add("--time-without", without, "PART",
      "With --time: assume that this part takes no time (tensor, issue, "
      "results, shared, copy, l2, hbm, barriers, launch)");
  app.add_flag("--statistics", stats,
               "Print the counts of each role, and the simulation speed, to "
               "standard error");
  app.add_flag("--quiet", quiet, "Hide the progress on a terminal");
  app.add_flag("--list", list,
               "Do not run: list the kernels of PTX files, their parameters "
               "and unsupported instructions");
  app.add_flag("--template", asTemplate,
               "Do not run: print a launch file to fill in for a kernel of a "
               "PTX file");
  add("--kernel", kernel, "NAME",
      "Kernel for --template; required if the file contains several");
}

/// Returns true if standard error is a terminal with support for colors, and
/// NO_COLOR (https://no-color.org) is not set.
bool isColored() {
  const char *off = getenv("NO_COLOR"), *kind = getenv("TERM");
  return isatty(STDERR_FILENO) && !(off && *off) && kind && *kind &&
         std::string_view(kind) != "dumb";
}

std::string colored(const char *color, std::string_view word) {
  std::string text(word);
  return isColored() ? color + text + "\033[0m" : text;
}

} // namespace

static int badUsage(const std::string &message) {
  std::cerr << "mx-sim: " << colored(kBoldRed, "error: ")
            << mx::printable(message) << "\n";
  return kExitBadInput;
}

/// Reads --clock, --time-figure and --time-without. Returns an error or "".
static std::string readTimeChanges(const Options &asked, TimeChanges &changes,
                                   bool isTimed) {
  using Setter = std::string (*)(TimeChanges &, std::string_view);
  std::vector<std::tuple<std::string, Setter, std::string>> all;
  if (asked.isGiven("--clock"))
    all.emplace_back("--clock", setClock, asked.clock);
  for (const std::string &figure : asked.figures)
    all.emplace_back("--time-figure", setFigure, figure);
  if (asked.isGiven("--time-without"))
    all.emplace_back("--time-without", setWithout, asked.without);
  for (auto &[option, set, text] : all) {
    if (!isTimed)
      return option + " needs --time";
    if (std::string why = set(changes, text); !why.empty())
      return option + ": " + why;
  }
  return {};
}

/// Reads the count of --time-lines; 0 if it is absent. Returns an error or "".
static std::string readTimeLines(const Options &asked, size_t &count,
                                 bool isTimed) {
  count = 0;
  if (!asked.isGiven("--time-lines"))
    return {};
  if (!isTimed)
    return "--time-lines needs --time";
  const std::string &text =
      asked.timeLines == kNoValue ? "10" : asked.timeLines;
  const char *end = text.data() + text.size();
  auto [at, error] = std::from_chars(text.data(), end, count);
  if (error != std::errc() || at != end || !count)
    return "--time-lines: expected a number of lines, at least 1, found '" +
           text + "'";
  return {};
}

static void printFindings(std::string_view text) {
  constexpr std::string_view kWord = "warning: ";
  for (size_t at; (at = text.find(kWord)) != text.npos;
       text.remove_prefix(at + kWord.size()))
    std::cerr << text.substr(0, at) << colored(kBoldMagenta, kWord);
  std::cerr << text;
}

/// Returns false after printing an error.
static bool writeFile(const std::string &path, std::string_view text) {
  std::string why = mx::writeOutputFile(path, {text});
  return why.empty() || badUsage(why) == kExitClean;
}

/// Returns null after printing an error if the file is not PTX.
static std::unique_ptr<Module> readModule(const std::string &path) {
  std::string text, why = mx::readInputFile(path, text);
  std::vector<Diagnostic> errors;
  auto module = why.empty() ? Module::parse(text, path, errors) : nullptr;
  if (module)
    return module;
  if (why.empty())
    why = path + ":" + std::to_string(errors.front().line) + ":" +
          std::to_string(errors.front().column) + ": " + errors.front().message;
  badUsage(why);
  return nullptr;
}

/// Prints a launch file for the kernel `name`, or for the only kernel.
static int printTemplate(const std::string &path, const std::string &name) {
  auto module = readModule(path);
  if (!module)
    return kExitBadInput;
  std::vector<const KernelInfo *> found = kernelsNamed(*module, name);
  std::string all;
  for (const KernelInfo &k : module->kernels())
    all += (all.empty() ? "" : ", ") + bothNames(k.name);
  if (found.size() == 1) {
    std::cout << launchTemplate(*found.front());
    return kExitClean;
  }
  if (all.empty())
    return badUsage(path + ": expected a kernel, found none");
  return badUsage(path + ": expected --kernel=NAME with one of " + all +
                  (name.empty()    ? ""
                   : found.empty() ? ", found '" + name + "'"
                                   : ", found '" + name +
                                         "', which is the name of several"));
}

/// Prints the properties of a module that a launch file needs.
static int listKernels(const std::string &path) {
  auto module = readModule(path);
  if (!module)
    return kExitBadInput;
  auto shape = [](const char *what, const std::array<uint32_t, 3> &n) {
    if (n[0])
      std::cout << ", " << what << " " << n[0] << "x" << n[1] << "x" << n[2];
  };
  bool isSupported = true;
  for (const KernelInfo &k : module->kernels()) {
    std::cout << "kernel " << mx::printable(bothNames(k.name)) << ": "
              << k.parameterBytes << " bytes of parameters, "
              << k.staticSharedBytes << " bytes of static shared memory";
    shape("block", k.requiredBlock);
    shape("block of at most", k.maximumBlock);
    shape("cluster", k.requiredCluster);
    std::cout << "\n";
    for (const ParameterInfo &p : k.parameters)
      std::cout << "  parameter " << mx::printable(p.name) << ": " << p.bytes
                << " bytes at offset " << p.offset << ", aligned to " << p.align
                << "\n";
    for (const Diagnostic &d : k.unsupported)
      std::cout << "  line " << d.line << ": " << mx::printable(d.message)
                << "\n";
    isSupported &= k.unsupported.empty();
  }
  return isSupported ? kExitClean : kExitBadInput;
}

/// Returns the exit status of --help, --version or bad options, or -1.
static int parse(Options &asked, int argc, char **argv) {
  try {
    asked.app.parse(argc, argv);
    return -1;
  } catch (const CLI::Success &answer) {
    return asked.app.exit(answer);
  } catch (const CLI::ParseError &error) {
    return badUsage(std::string(error.what()) +
                    "; mx-sim --help lists the options");
  }
}

extern "C" int mxSimMain(int argc, char **argv) {
  mx::handleOutOfMemory("mx-sim", kExitBadInput);
  signal(SIGPIPE, SIG_DFL);
  if (argc > 1 && std::string_view(argv[1]) == "run")
    return runProgram(argc - 1, argv + 1);
  Options asked;
  if (int status = parse(asked, argc, argv); status >= 0)
    return status;
  if (asked.inputs.empty())
    return badUsage("expected [KERNEL.ptx ...] LAUNCH.json, found no file; "
                    "mx-sim --help lists the options");
  if (asked.list) {
    int status = kExitClean;
    for (const std::string &path : asked.inputs)
      status = std::max(status, listKernels(path));
    return status;
  }
  if (asked.asTemplate) {
    if (asked.inputs.size() != 1)
      return badUsage("--template: expected one PTX file, found " +
                      std::to_string(asked.inputs.size()) + " files");
    return printTemplate(asked.inputs.front(), asked.kernel);
  }
  if (asked.isGiven("--kernel"))
    return badUsage("--kernel needs --template");
  LaunchFileOptions options;
  std::string error;
  if (!parseChecks(asked.checks, options.checks, error))
    return badUsage(error);
  options.anyPath = asked.anyPath;
  options.seed = asked.seed;
  options.threads = asked.jobs;
  options.truncatingSums = asked.sums == "truncated";
  options.modules.assign(asked.inputs.begin(), std::prev(asked.inputs.end()));
  options.launchFile = *std::prev(asked.inputs.end());
  if (asked.isGiven("--time")) {
    options.timedChip = asked.time == kNoValue
                            ? std::string(namesOfTimedChips().front())
                            : asked.time;
    if (!smsOfTimedChip(options.timedChip))
      return badUsage("--time: expected one of " + listOfTimedChips() +
                      ", found '" + options.timedChip + "'");
  }
  if (std::string why = readTimeChanges(asked, options.timeChanges,
                                        !options.timedChip.empty());
      !why.empty())
    return badUsage(why);
  size_t linesToPrint = 0;
  if (std::string why =
          readTimeLines(asked, linesToPrint, !options.timedChip.empty());
      !why.empty())
    return badUsage(why);
  options.timeLines = linesToPrint > 0;
  if (asked.data == "none" && options.timedChip.empty())
    return badUsage("--data=none needs --time");
  options.skipsMmas = asked.data == "none";
  if (!asked.machineCode.empty()) {
    if (options.timedChip.empty())
      return badUsage("--machine-code needs --time");
    std::string why = mx::readInputFile(asked.machineCode, options.machineCode);
    if (!why.empty())
      return badUsage(why);
    if (options.machineCode.empty())
      return badUsage(
          "--machine-code: " + asked.machineCode +
          ": expected a listing of simulator/scripts/list-machine-code, "
          "found an empty file");
  }
  options.profile = asked.stats || !asked.report.empty();
  bool isTimed = !options.timedChip.empty();
  if (isTimed && !asked.timeline.empty())
    return badUsage("--timeline shows simulated steps: expected no --time; "
                    "--trace shows modelled time");
  if (!isTimed && !asked.trace.empty())
    return badUsage("--trace needs --time");
  if (!asked.timeline.empty() || !asked.trace.empty())
    options.timelineCtas =
        asked.timelineCtas ? asked.timelineCtas : LaunchConfig::kTwoClusters;
  else if (asked.isGiven("--timeline-ctas"))
    return badUsage("--timeline-ctas needs --timeline or --trace");
  if (options.timelineCtas && asked.isGiven("--timeline-ctas") &&
      !asked.timelineCtas)
    return badUsage("--timeline-ctas: expected at least 1, found 0");
  using Format = std::string (*)(const LaunchFileResult &);
  const std::tuple<const char *, std::string, Format> outputs[] = {
      {"--report", asked.report, reportAsJson},
      {"--sarif", asked.sarif, findingsAsSarif},
      {"--timeline", asked.timeline, timelineAsHtml},
      {"--trace", asked.trace, timelineAsTrace}};
  for (auto &[option, path, format] : outputs) {
    if (path.empty())
      continue;
    if (std::string why = mx::whyNotWritable(path); !why.empty())
      return badUsage(why);
    options.reports.emplace_back(option, path);
  }
  LaunchFileResult result = [&] {
    mx::Progress progress({"mx-sim", asked.quiet}, "simulating");
    return runLaunchFile(options);
  }();
  if (result.refusesFiles)
    return badUsage(result.error);
  if (!result.error.empty())
    (void)badUsage(result.error);
  uint64_t instructions = 0, mmas = 0;
  for (const LaunchReport &r : result.reports) {
    printFindings(mx::printable(r.text()));
    if (asked.stats)
      std::cerr << mx::printable(statisticsText(r));
    std::cerr << mx::printable(timeText(r));
    std::cerr << mx::printable(linesText(r, linesToPrint));
    instructions += r.statistics.warpInstructions;
    mmas += r.statistics.mmas;
  }
  if (asked.stats)
    std::cerr << "warp instructions: " << instructions << ", mma: " << mmas
              << ", seconds: " << std::fixed << std::setprecision(3)
              << result.seconds << "\n";
  if (std::string s = closingLine(result, asked.werror); !s.empty())
    std::cerr << "mx-sim: " << mx::printable(s) << "\n";
  if (!result.advice.empty())
    std::cerr << "mx-sim: " << result.advice << "\n";
  bool ok = true;
  for (auto &[option, path, format] : outputs) {
    bool isTimeline = format == timelineAsHtml || format == timelineAsTrace;
    if (!path.empty() && !(isTimeline && result.reports.empty()))
      ok &= writeFile(path, format(result));
  }
  if (!ok)
    return kExitBadInput;
  int status = result.exitStatus();
  for (const LaunchReport &r : result.reports)
    for (const Finding &f : r.findings)
      if (asked.werror && f.isWarning && !status)
        status = kExitFault;
  return status;
}
