//===- mx-run.cpp - Compilation and execution on arrays -------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "../Tool.h"
#include "Run.h"
#include "llvm/Support/InitLLVM.h"
#include <cstdlib>

namespace cl = llvm::cl;

namespace {

struct Options : mx::CompilerOptions {
  Options() : CompilerOptions("mx-run options") {}

  cl::opt<std::string> entry{"entry", cl::init("main"),
                             cl::desc("function to run"), cl::cat(category)};
  cl::opt<std::string> device{
      "device",
      cl::desc("auto, sim, cuda, cuda:N or cpu; auto selects a GPU "
               "that runs the chip's code, else the simulator"),
      cl::cat(category)};
  cl::opt<std::string> chip{"chip",
                            cl::desc("GPU to compile for; default: the "
                                     "device's GPU, else sm_100a"),
                            cl::cat(category)};
  cl::list<std::string> arguments{"arg", cl::value_desc("X.npy"),
                                  cl::desc("array for the next argument"),
                                  cl::cat(category)};
  cl::list<std::string> results{"result", cl::value_desc("Y.npy"),
                                cl::desc("output file for the next result"),
                                cl::cat(category)};
  cl::opt<int> ranks{
      "ranks", cl::init(1), cl::value_desc("N"),
      cl::desc("number of ranks, as in mx.group; {rank} in a file name is "
               "replaced by the rank number"),
      cl::cat(category)};
  cl::opt<double> timeout{
      "timeout", cl::init(mx::RunOptions().timeout), cl::value_desc("SECONDS"),
      cl::desc("maximum time that a rank waits for other ranks"),
      cl::cat(category)};
  cl::opt<std::string> check{
      "check", cl::value_desc("cpu"),
      cl::desc("compare every operation with the reference path"),
      cl::cat(category)};
  cl::opt<std::string> checkReport{"check-report", cl::value_desc("FILE.json"),
                                   cl::desc("write a report of the comparison"),
                                   cl::cat(category)};
  cl::opt<std::string> saveTemps{
      "save-temps", cl::value_desc("DIR"),
      cl::desc("keep the IR after every pass and the PTX"), cl::cat(category)};
  cl::opt<bool> timing{"time", cl::desc("print how long each part took"),
                       cl::cat(category)};
};

} // namespace

extern "C" int mxRunMain(int argc, char **argv) {
  static Options asked;
  mx::initTool("mx-run");
  llvm::InitLLVM init(argc, argv);
  if (!mx::startCompiler(argc, argv, "mx-run", "run",
                         "mx: compile and run on arrays\n", asked))
    return mx::kExitBadInput;
  if (!asked.check.empty() && asked.check != "cpu") {
    llvm::errs() << "mx-run: expected --check=cpu, found --check="
                 << asked.check << '\n';
    return mx::kExitBadInput;
  }
  mx::RunOptions options;
  asked.set(options);
  options.chip.clear();
  options.inputFile = asked.inputFile;
  options.entry = asked.entry;
  if (const char *name = std::getenv("MX_DEVICE"))
    options.deviceName = name;
  if (asked.device.getNumOccurrences())
    options.deviceName = asked.device;
  // Default for all runs of a script.
  if (const char *name = std::getenv("MX_CHIP"))
    options.chip = name;
  if (asked.chip.getNumOccurrences())
    options.chip = asked.chip;
  options.argumentFiles = asked.arguments;
  options.resultFiles = asked.results;
  options.ranks = asked.ranks;
  options.timeout = asked.timeout;
  options.checkWithCPU = !asked.check.empty() || !asked.checkReport.empty();
  options.checkReport = asked.checkReport;
  options.saveTemps = asked.saveTemps;
  options.printTiming = asked.timing;
  options.quiet = asked.quiet;
  return mx::run(options);
}
