//===- mx-sim.cpp - run PTX kernels without a GPU -------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The command line of the simulator: docs/Simulator.md.
//===----------------------------------------------------------------------===//

#include "mx/Simulator/LaunchFile.h"

#include "llvm/Support/CommandLine.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;

static cl::OptionCategory category("mx-sim options");
static cl::list<std::string> inputs(cl::Positional, cl::OneOrMore,
                                    cl::desc("[KERNEL.ptx ...] LAUNCH.json"),
                                    cl::cat(category));
static cl::opt<std::string>
    checks("checks", cl::desc("Checks: all (default), none, or a list"),
           cl::init("all"), cl::cat(category));
static cl::opt<uint64_t>
    seed("seed", cl::desc("Order in which asynchronous operations complete"),
         cl::init(0), cl::cat(category));
static cl::opt<std::string> report("report",
                                   cl::desc("Write the findings as JSON"),
                                   cl::value_desc("file"), cl::cat(category));
static cl::opt<bool> stats("statistics",
                           cl::desc("Print counts and speed to standard error"),
                           cl::cat(category));

static int badUsage(const Twine &message) {
  errs() << "mx-sim: error: " << message << "\n";
  return 2;
}

int main(int argc, char **argv) {
  InitLLVM init(argc, argv);
  cl::HideUnrelatedOptions(category);
  std::string usage;
  raw_string_ostream usageStream(usage);
  if (!cl::ParseCommandLineOptions(argc, argv, "Runs PTX kernels on the CPU\n",
                                   &usageStream)) {
    errs() << usage;
    return 2;
  }
  mx::sim::LaunchFileOptions options;
  std::string error;
  if (!mx::sim::parseChecks(checks.getValue(), options.checks, error))
    return badUsage(error);
  options.seed = seed;
  options.modules.assign(inputs.begin(), std::prev(inputs.end()));
  options.launchFile = *std::prev(inputs.end());
  mx::sim::LaunchFileResult result = mx::sim::runLaunchFile(options);
  if (!result.error.empty())
    errs() << "mx-sim: error: " << result.error << "\n";
  uint64_t instructions = 0, mmas = 0;
  for (const mx::sim::LaunchReport &r : result.reports) {
    errs() << r.text();
    instructions += r.statistics.warpInstructions;
    mmas += r.statistics.mmas;
  }
  if (stats)
    errs() << "warp instructions: " << instructions << ", mma: " << mmas
           << ", seconds: " << format("%.3f", result.seconds) << "\n";
  if (!report.empty()) {
    std::error_code code;
    raw_fd_ostream file(report, code);
    if (code)
      return badUsage(Twine(report) + ": " + code.message());
    file << mx::sim::reportAsJson(result);
  }
  return result.exitStatus();
}
