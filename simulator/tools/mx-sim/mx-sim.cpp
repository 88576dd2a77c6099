//===- mx-sim.cpp - run PTX kernels without a GPU -------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The command line of the simulator: simulator/docs/Simulator.md.
//===----------------------------------------------------------------------===//

#include "../Tool.h"

#include "mxsim/Report.h"
#include "mx/Support/InputFile.h"
#include "mx/Support/Notices.h"
#include "mx/Support/Printable.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/WithColor.h"

using namespace llvm;

namespace {

enum class Sums { Exact, Truncated };
enum class Data { Values, None };

/// Registered by the main: libmx has the mains of several tools in it, whose
/// options share names.
struct Options {
  cl::OptionCategory category{"mx-sim options"};
  cl::list<std::string> inputs{cl::Positional, cl::OneOrMore,
                               cl::desc("[KERNEL.ptx ...] LAUNCH.json"),
                               cl::cat(category)};
  cl::opt<std::string> checks{
      "checks",
      cl::desc("Checks: all (default), none, or a list; "
               "-NAME leaves one out"),
      cl::init("all"), cl::cat(category)};
  cl::opt<bool> anyPath{
      "any-path",
      cl::desc("Let the launch file read and write any path, not only files "
               "beside it"),
      cl::cat(category)};
  cl::opt<bool> werror{"werror", cl::desc("Exit with 1 on warnings, too"),
                       cl::cat(category)};
  cl::opt<uint64_t> seed{
      "seed",
      cl::desc("Order of warps, CTAs and asynchronous completions; 0 "
               "(default): the fastest to simulate"),
      cl::init(0), cl::cat(category)};
  cl::opt<unsigned> jobs{"jobs",
                         cl::desc("Host threads; 0 (default): one per core"),
                         cl::init(0), cl::cat(category)};
  cl::opt<Sums> sums{
      "sums", cl::desc("How tensor cores add"), cl::init(Sums::Exact),
      cl::values(clEnumValN(Sums::Exact, "exact",
                            "exactly, rounded once a K step (default)"),
                 clEnumValN(Sums::Truncated, "truncated",
                            "truncated below the largest term, as on chips")),
      cl::cat(category)};
  cl::opt<std::string> report{"report",
                              cl::desc("Write findings and counts as JSON"),
                              cl::value_desc("file"), cl::cat(category)};
  cl::opt<std::string> timeline{
      "timeline",
      cl::desc("Write a page of HTML that shows the first CTAs over "
               "simulated steps, with --time over modelled cycles"),
      cl::value_desc("file"), cl::cat(category)};
  cl::opt<unsigned> timelineCtas{
      "timeline-ctas",
      cl::desc(
          "How many CTAs it shows, in whole clusters; default: those of the "
          "first two clusters"),
      cl::init(0), cl::cat(category)};
  cl::opt<std::string> time{
      "time",
      cl::desc("Model how long kernels take on this chip (h200, the "
               "default, or b200), and print it to standard error"),
      cl::value_desc("chip"), cl::ValueOptional, cl::cat(category)};
  cl::opt<std::string> machineCode{
      "machine-code",
      cl::desc("Price instructions by this listing of nvdisasm, of the same "
               "PTX (simulator/scripts/list-machine-code makes it)"),
      cl::value_desc("file"), cl::cat(category)};
  cl::opt<Data> data{
      "data", cl::desc("What matrix products compute"), cl::init(Data::Values),
      cl::values(clEnumValN(Data::Values, "values", "their values (default)"),
                 clEnumValN(Data::None, "none",
                            "nothing, for --time: results are meaningless")),
      cl::cat(category)};
  cl::opt<std::string> clock{
      "clock",
      cl::desc("With --time: the clock in MHz, or sustained, that of a launch "
               "that goes on and on; by default that of one launch, which "
               "products lower"),
      cl::value_desc("MHz|sustained"), cl::cat(category)};
  cl::list<std::string> figures{
      "time-figure",
      cl::desc("With --time: another figure than the chip's, as "
               "wgmma-latency=60; repeatable"),
      cl::value_desc("key=number"), cl::cat(category)};
  cl::opt<std::string> without{
      "time-without",
      cl::desc("With --time: a part that takes no time (tensor, issue, "
               "results, shared, copy, l2, hbm, barriers, launch)"),
      cl::value_desc("part"), cl::cat(category)};
  cl::opt<std::string> timeLines{
      "time-lines",
      cl::desc("With --time: print the lines (default: 10) at which warps "
               "spend most cycles, and write all into the report"),
      cl::value_desc("number"), cl::ValueOptional, cl::cat(category)};
  cl::opt<bool> stats{
      "statistics",
      cl::desc("Print counts of each role, and speed, to standard error"),
      cl::cat(category)};
  cl::opt<bool> quiet{"quiet", cl::desc("No progress on a terminal"),
                      cl::cat(category)};
  cl::opt<bool> list{"list",
                     cl::desc("Do not run: list the kernels of PTX files, "
                              "their parameters and what is unsupported"),
                     cl::cat(category)};
  cl::opt<bool> asTemplate{
      "template",
      cl::desc("Do not run: print a launch file to fill in for a kernel of a "
               "PTX file"),
      cl::cat(category)};
  cl::opt<std::string> kernel{
      "kernel", cl::desc("The kernel of --template, where there are several"),
      cl::value_desc("name"), cl::cat(category)};
};

} // namespace

static int badUsage(const Twine &message) {
  WithColor::error(errs(), "mx-sim") << mx::printable(message.str()) << "\n";
  return mx::kExitBadInput;
}

/// What --clock, --time-figure and --time-without ask for. Returns what is
/// wrong, or nothing.
static std::string readTimeChanges(const Options &asked,
                                   mx::sim::TimeChanges &changes,
                                   bool isTimed) {
  using Setter = std::string (*)(mx::sim::TimeChanges &, std::string_view);
  std::vector<std::tuple<std::string, Setter, std::string>> all;
  if (asked.clock.getNumOccurrences())
    all.emplace_back("--clock", mx::sim::setClock, asked.clock);
  for (const std::string &figure : asked.figures)
    all.emplace_back("--time-figure", mx::sim::setFigure, figure);
  if (asked.without.getNumOccurrences())
    all.emplace_back("--time-without", mx::sim::setWithout, asked.without);
  for (auto &[option, set, text] : all) {
    if (!isTimed)
      return option + " needs --time";
    if (std::string why = set(changes, text); !why.empty())
      return option + ": " + why;
  }
  return {};
}

/// How many lines --time-lines asks for, or 0. Returns what is wrong, or
/// nothing.
static std::string readTimeLines(const Options &asked, size_t &count,
                                 bool isTimed) {
  constexpr size_t kDefault = 10;
  count = 0;
  if (!asked.timeLines.getNumOccurrences())
    return {};
  if (!isTimed)
    return "--time-lines needs --time";
  StringRef text = asked.timeLines.getValue();
  if (text.empty())
    count = kDefault;
  else if (text.getAsInteger(10, count) || !count)
    return "--time-lines: expected a number of lines, at least 1, found '" +
           text.str() + "'";
  return {};
}

/// The word "warning:" has LLVM's color for it on a terminal.
static void printFindings(StringRef text) {
  constexpr StringLiteral kWord = "warning: ";
  for (size_t at; (at = text.find(kWord)) != StringRef::npos;
       text = text.drop_front(at + kWord.size())) {
    errs() << text.take_front(at);
    WithColor(errs(), HighlightColor::Warning).get() << kWord;
  }
  errs() << text;
}

/// Empty when a file can be written there. It is not touched: a run takes long,
/// and bad input leaves no files.
static std::string whyNotWritable(StringRef path) {
  std::error_code code;
  if (sys::fs::is_directory(path))
    code = std::make_error_code(std::errc::is_a_directory);
  else if (sys::fs::exists(path))
    code = sys::fs::access(path, sys::fs::AccessMode::Write);
  else {
    StringRef parent = sys::path::parent_path(path);
    if (parent.empty())
      parent = ".";
    code = sys::fs::is_directory(parent)
               ? sys::fs::access(parent, sys::fs::AccessMode::Write)
               : std::make_error_code(std::errc::no_such_file_or_directory);
  }
  return code ? (path + ": " + code.message()).str() : std::string();
}

/// The whole file or, with a message, nothing.
static bool writeFile(StringRef path, StringRef text) {
  std::error_code code;
  if (sys::fs::exists(path) && !sys::fs::is_regular_file(path)) {
    // A device or a pipe is written to; a file put in its place would be the
    // end of it.
    raw_fd_ostream out(path, code);
    if (!code) {
      out << text;
      out.flush();
      code = out.error();
      out.clear_error();
    }
  } else {
    code = errorToErrorCode(writeToOutput(path, [&](raw_ostream &out) {
      out << text;
      return Error::success();
    }));
  }
  if (!code)
    return true;
  badUsage(path + ": " + code.message());
  return false;
}

/// Null with a message where it is no PTX.
static std::unique_ptr<mx::sim::Module> readModule(const std::string &path) {
  auto fail = [](const Twine &message) {
    (void)badUsage(message);
    return nullptr;
  };
  if (std::string why = mx::checkInputFile(path); !why.empty())
    return fail(why);
  auto file = MemoryBuffer::getFile(path);
  if (!file)
    return fail(path + ": " + file.getError().message());
  std::vector<mx::sim::Diagnostic> errors;
  StringRef text = (*file)->getBuffer();
  auto module =
      mx::sim::Module::parse({text.data(), text.size()}, path, errors);
  if (module)
    return module;
  const mx::sim::Diagnostic &d = errors.front();
  return fail(path + ":" + Twine(d.line) + ":" + Twine(d.column) + ": " +
              d.message);
}

/// A launch file for the kernel `name`, or for the only one.
static int printTemplate(const std::string &path, const std::string &name) {
  auto module = readModule(path);
  if (!module)
    return mx::kExitBadInput;
  std::vector<const mx::sim::KernelInfo *> found;
  std::string all;
  for (const mx::sim::KernelInfo &k : module->kernels()) {
    all += (all.empty() ? "" : ", ") + mx::sim::bothNames(k.name);
    if (name.empty() || mx::sim::isNameOf(name, k.name))
      found.push_back(&k);
  }
  if (found.size() == 1) {
    outs() << mx::sim::launchTemplate(*found.front());
    return mx::kExitClean;
  }
  if (all.empty())
    return badUsage(path + ": expected a kernel, found none");
  return badUsage(path + ": expected --kernel=NAME with one of " + all +
                  (name.empty()    ? ""
                   : found.empty() ? ", found '" + name + "'"
                                   : ", found '" + name +
                                         "', which is the name of several"));
}

/// What a person who writes a launch file needs to know of a module.
static int listKernels(const std::string &path) {
  auto module = readModule(path);
  if (!module)
    return mx::kExitBadInput;
  auto shape = [](const char *what, const std::array<uint32_t, 3> &n) {
    if (n[0])
      outs() << ", " << what << " " << n[0] << "x" << n[1] << "x" << n[2];
  };
  bool isSupported = true;
  for (const mx::sim::KernelInfo &k : module->kernels()) {
    outs() << "kernel " << mx::printable(mx::sim::bothNames(k.name)) << ": "
           << k.parameterBytes << " bytes of parameters, "
           << k.staticSharedBytes << " bytes of static shared memory";
    shape("block", k.requiredBlock);
    shape("block of at most", k.maximumBlock);
    shape("cluster", k.requiredCluster);
    outs() << "\n";
    for (const mx::sim::ParameterInfo &p : k.parameters)
      outs() << "  parameter " << mx::printable(p.name) << ": " << p.bytes
             << " bytes at offset " << p.offset << ", aligned to " << p.align
             << "\n";
    for (const mx::sim::Diagnostic &d : k.unsupported)
      outs() << "  line " << d.line << ": " << mx::printable(d.message) << "\n";
    isSupported &= k.unsupported.empty();
  }
  return isSupported ? mx::kExitClean : mx::kExitBadInput;
}

extern "C" int mxSimMain(int argc, char **argv) {
  static Options asked;
  mx::initTool("mx-sim");
  InitLLVM init(argc, argv);
  cl::HideUnrelatedOptions(asked.category);
  if (!mx::parseOptions(argc, argv, "Runs PTX kernels on the CPU\n"))
    return mx::kExitBadInput;
  if (asked.list) {
    int status = mx::kExitClean;
    for (const std::string &path : asked.inputs)
      status = std::max(status, listKernels(path));
    return status;
  }
  if (asked.asTemplate) {
    if (asked.inputs.size() != 1)
      return badUsage("--template: expected one PTX file, found " +
                      Twine(asked.inputs.size()) + " files");
    return printTemplate(asked.inputs.front(), asked.kernel);
  }
  if (asked.kernel.getNumOccurrences())
    return badUsage("--kernel needs --template");
  mx::sim::LaunchFileOptions options;
  std::string error;
  if (!mx::sim::parseChecks(asked.checks.getValue(), options.checks, error))
    return badUsage(error);
  options.anyPath = asked.anyPath;
  options.seed = asked.seed;
  options.threads = asked.jobs;
  options.truncatingSums = asked.sums == Sums::Truncated;
  options.modules.assign(asked.inputs.begin(), std::prev(asked.inputs.end()));
  options.launchFile = *std::prev(asked.inputs.end());
  if (asked.time.getNumOccurrences()) {
    options.timedChip = asked.time.empty()
                            ? std::string(mx::sim::namesOfTimedChips().front())
                            : asked.time.getValue();
    if (!mx::sim::smsOfTimedChip(options.timedChip))
      return badUsage("--time: expected one of " + mx::sim::listOfTimedChips() +
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
  if (asked.data == Data::None && options.timedChip.empty())
    return badUsage("--data=none needs --time");
  options.skipsProducts = asked.data == Data::None;
  if (!asked.machineCode.empty()) {
    if (options.timedChip.empty())
      return badUsage("--machine-code needs --time");
    if (std::string why = mx::checkInputFile(asked.machineCode); !why.empty())
      return badUsage(why);
    auto file = MemoryBuffer::getFile(asked.machineCode);
    if (!file)
      return badUsage(asked.machineCode.getValue() + ": " +
                      file.getError().message());
    options.machineCode = (*file)->getBuffer().str();
    if (options.machineCode.empty())
      return badUsage("--machine-code: " + asked.machineCode.getValue() +
                      ": expected a listing of simulator/scripts/list-machine-code, "
                      "found an empty file");
  }
  options.profile = asked.stats || !asked.report.empty();
  if (!asked.timeline.empty())
    options.timelineCtas = asked.timelineCtas
                               ? asked.timelineCtas
                               : mx::sim::LaunchConfig::kTwoClusters;
  else if (asked.timelineCtas.getNumOccurrences())
    return badUsage("--timeline-ctas needs --timeline");
  if (!asked.timeline.empty() && asked.timelineCtas.getNumOccurrences() &&
      !asked.timelineCtas)
    return badUsage("--timeline-ctas: expected at least 1, found 0");
  for (cl::opt<std::string> *option : {&asked.report, &asked.timeline}) {
    const std::string &path = option->getValue();
    if (path.empty())
      continue;
    if (std::string why = whyNotWritable(path); !why.empty())
      return badUsage(why);
    options.reports.emplace_back("--" + option->ArgStr.str(), path);
  }
  mx::sim::LaunchFileResult result = [&] {
    mx::Progress progress({"mx-sim", asked.quiet}, "simulating");
    return mx::sim::runLaunchFile(options);
  }();
  if (result.refusesFiles)
    return badUsage(result.error);
  if (!result.error.empty())
    (void)badUsage(result.error);
  uint64_t instructions = 0, mmas = 0;
  for (const mx::sim::LaunchReport &r : result.reports) {
    printFindings(mx::printable(r.text()));
    if (asked.stats)
      errs() << mx::printable(mx::sim::statisticsText(r));
    errs() << mx::printable(mx::sim::timeText(r));
    errs() << mx::printable(mx::sim::linesText(r, linesToPrint));
    instructions += r.statistics.warpInstructions;
    mmas += r.statistics.mmas;
  }
  if (asked.stats)
    errs() << "warp instructions: " << instructions << ", mma: " << mmas
           << ", seconds: " << format("%.3f", result.seconds) << "\n";
  if (std::string s = mx::sim::closingLine(result, asked.werror); !s.empty())
    errs() << "mx-sim: " << mx::printable(s) << "\n";
  if (!result.advice.empty())
    errs() << "mx-sim: " << result.advice << "\n";
  bool ok = true;
  if (!asked.report.empty())
    ok &= writeFile(asked.report, mx::sim::reportAsJson(result));
  if (!asked.timeline.empty() && !result.reports.empty())
    ok &= writeFile(asked.timeline, mx::sim::timelineAsHtml(result));
  if (!ok)
    return mx::kExitBadInput;
  int status = result.exitStatus();
  for (const mx::sim::LaunchReport &r : result.reports)
    for (const mx::sim::Finding &f : r.findings)
      if (asked.werror && f.isWarning && !status)
        status = mx::kExitFault;
  return status;
}
