//===- mx-compile.cpp - Compilation of files to directories ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "../Tool.h"
#include "mx/AheadOfTime/Compile.h"
#include "mx/Target/TargetInfo.h"
#include "llvm/Support/InitLLVM.h"

namespace cl = llvm::cl;

namespace {

struct Options : mx::CompilerOptions {
  Options() : CompilerOptions("mx-compile options") {}

  cl::opt<std::string> output{"o", cl::value_desc("DIR"),
                              cl::desc("output directory"), cl::cat(category)};
  cl::opt<std::string> chip{"chip", cl::init(mx::target::kDefaultChip),
                            cl::desc("GPU to compile for"), cl::cat(category)};
  cl::list<std::string> entries{
      "entry", cl::value_desc("NAME"),
      cl::desc("a function to compile; default: all public functions"),
      cl::cat(category)};
  cl::opt<std::string> ptxas{
      "ptxas", cl::value_desc("PATH"),
      cl::desc("path of ptxas, or none; default: the first ptxas found"),
      cl::cat(category)};
  cl::opt<std::string> tune{
      "tune", cl::ValueOptional, cl::value_desc("K"),
      cl::desc("time the model's best K schedules of each matmul on this "
               "machine's GPU (default: 8), and use the fastest"),
      cl::cat(category)};
  cl::opt<std::string> choose{
      "choose", cl::value_desc("simulated[:K]"),
      cl::desc("like --tune without a GPU: model the times of the best K "
               "schedules on the simulator"),
      cl::cat(category)};
  cl::list<int64_t> tuneRows{
      "tune-rows", cl::CommaSeparated, cl::value_desc("N,..."),
      cl::desc("row counts at which --tune or --choose times matmuls with "
               "dynamic rows; default: one size from each range that has its "
               "own schedule"),
      cl::cat(category)};
};

/// Default and maximum number of schedules to time.
constexpr int64_t kTuneCount = 8, kMostTuneCount = 1000;

/// Reads the K of --choose=simulated:K. Returns false after a message.
bool readChoose(const Options &asked, llvm::StringRef &text) {
  text = asked.choose;
  if (asked.tune.getNumOccurrences()) {
    llvm::errs() << "mx-compile: expected --tune or --choose, found both\n";
    return false;
  }
  if (text.consume_front("simulated") &&
      (text.empty() || (text.consume_front(":") && !text.empty())))
    return true;
  llvm::errs() << "mx-compile: expected --choose=simulated or "
                  "--choose=simulated:K, found '"
               << mx::printable(asked.choose) << "'\n";
  return false;
}

/// Reads --tune and --choose. Returns false after a message.
bool readTune(const Options &asked, mx::TuneOptions &tune) {
  tune.isModelled = asked.choose.getNumOccurrences();
  if (asked.tune.getNumOccurrences() == 0 && !tune.isModelled) {
    if (asked.tuneRows.empty())
      return true;
    llvm::errs()
        << "mx-compile: --tune-rows requires --tune: add --tune, or omit "
           "--tune-rows\n";
    return false;
  }
  tune.count = kTuneCount;
  llvm::StringRef text = asked.tune;
  if (tune.isModelled && !readChoose(asked, text))
    return false;
  if (!text.empty() && (text.getAsInteger(10, tune.count) || tune.count < 1 ||
                        tune.count > kMostTuneCount)) {
    llvm::errs() << "mx-compile: expected "
                 << (tune.isModelled ? "--choose=simulated:K" : "--tune")
                 << " with a number of schedules from 1 to " << kMostTuneCount
                 << ", found '" << mx::printable(text.str()) << "'\n";
    return false;
  }
  for (int64_t rows : asked.tuneRows) {
    if (rows < 1) {
      llvm::errs() << "mx-compile: expected --tune-rows of at least 1, found "
                   << rows << '\n';
      return false;
    }
    tune.rows.push_back(rows);
  }
  return true;
}

} // namespace

extern "C" int mxCompileMain(int argc, char **argv) {
  static Options asked;
  mx::initTool("mx-compile");
  llvm::InitLLVM init(argc, argv);
  if (!mx::startCompiler(argc, argv, "mx-compile", "compile",
                         "mx: compile to a directory\n", asked))
    return mx::kExitBadInput;
  if (asked.output.empty()) {
    llvm::errs() << "mx-compile: expected -o and a directory, found none\n";
    return mx::kExitBadInput;
  }
  mx::CompileToDirectoryOptions options;
  options.inputFile = asked.inputFile;
  options.outputDirectory = asked.output;
  options.chip = asked.chip;
  options.entries = asked.entries;
  options.ptxas = asked.ptxas;
  options.quiet = asked.quiet;
  asked.set(options);
  if (!readTune(asked, options.tune))
    return mx::kExitBadInput;
  return mx::compileToDirectory(options);
}
