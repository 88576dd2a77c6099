//===- Tool.h - Utilities for tools -----------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Version, exit statuses of bad options, and handling of insufficient memory,
// for which LLVM aborts.
//===----------------------------------------------------------------------===//

#ifndef MX_TOOLS_TOOL_H
#define MX_TOOLS_TOOL_H

#include "mx/Execution/DeviceCode.h"
#include "mx/Support/ExitStatus.h"
#include "mx/Support/Version.h"
#include "mxsim/io/InputFile.h"
#include "mxsim/io/Memory.h"
#include "mxsim/io/Printable.h"
#include "llvm/Config/llvm-config.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/ErrorHandling.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/WithColor.h"
#include "llvm/Support/raw_ostream.h"
#include <cstdlib>
#include <new>

namespace mx {

/// Exit status of upstream's drivers for all errors.
constexpr int kExitUpstream = 1;

/// Initializes tool `name`; must be the first call of its main. Memory
/// exhaustion ends the tool with status `kOutOfMemory`.
template <int kOutOfMemory = kExitBadInput>
void initTool(const char *name) {
  llvm::cl::SetVersionPrinter([](llvm::raw_ostream &os) {
    os << "mx " << getVersion() << "\nLLVM " << LLVM_VERSION_STRING << '\n';
  });
  // https://no-color.org, not supported by LLVM.
  if (const char *value = std::getenv("NO_COLOR"); value && *value)
    llvm::WithColor::setAutoDetectFunction(
        [](const llvm::raw_ostream &) { return false; });
  handleOutOfMemory(name, kOutOfMemory);
  // LLVM installs a handler that calls this function.
  std::set_new_handler(nullptr);
  llvm::install_bad_alloc_error_handler(
      [](void *, const char *, bool) { exitOutOfMemory(); });
}

/// Parses the options. Returns false after printing errors to stderr.
inline bool parseOptions(int argc, char **argv, const char *overview) {
  // Without an error stream, LLVM exits with its own status.
  std::string errors;
  llvm::raw_string_ostream stream(errors);
  if (llvm::cl::ParseCommandLineOptions(argc, argv, overview, &stream))
    return true;
  llvm::errs() << errors;
  return false;
}

/// Checks an input that upstream's drivers open. Returns false after a message
/// to stderr.
inline bool checkInput(const std::string &path) {
  std::string why = checkInputFile(path);
  if (!why.empty())
    llvm::errs() << printable(why) << '\n';
  return why.empty();
}

/// Checks the input words of a driver with its own option parser. Only -o takes
/// a path, which is written.
inline bool checkInputWords(int argc, char **argv) {
  for (int i = 1; i < argc; ++i) {
    llvm::StringRef word = argv[i];
    if (word == "-o" || word == "--o")
      ++i;
    else if (!word.starts_with("-") && !checkInput(argv[i]))
      return false;
  }
  return true;
}

/// Options of all tools that compile a file. Created by the main function,
/// because libmx contains the mains of several tools with equal option names.
struct CompilerOptions {
  explicit CompilerOptions(const char *title) : category(title) {}

  llvm::cl::OptionCategory category;
  llvm::cl::opt<std::string> inputFile{llvm::cl::Positional,
                                       llvm::cl::desc("FILE.mlir"),
                                       llvm::cl::cat(category)};
  llvm::cl::opt<bool> fuse{
      "fuse", llvm::cl::init(true),
      llvm::cl::desc("compute what is quantized where it is quantized, and "
                     "finish matmuls where they are computed (the default)"),
      llvm::cl::cat(category)};
  llvm::cl::opt<int64_t> maxSchedules{
      "max-schedules", llvm::cl::init(target::kMaxSchedules),
      llvm::cl::value_desc("N"),
      llvm::cl::desc("most schedules of a matmul whose rows, groups or "
                     "reduction no type knows; with 1 a row's sums do not "
                     "depend on how many rows there are"),
      llvm::cl::cat(category)};
  llvm::cl::opt<std::string> tuned{
      "tuned", llvm::cl::value_desc("FILE"),
      llvm::cl::desc("table of measured schedules, which come before the "
                     "model's; mx-compile --tune writes it"),
      llvm::cl::cat(category)};
  llvm::cl::opt<std::string> tunedGpu{
      "tuned-gpu", llvm::cl::value_desc("NAME"),
      llvm::cl::desc("the GPU whose entries of the table are taken; default: "
                     "the only one that is there for the chip"),
      llvm::cl::cat(category)};
  llvm::cl::opt<bool> explain{
      "mx-explain",
      llvm::cl::desc("print which schedule each matmul gets, its memory map "
                     "and why others lost"),
      llvm::cl::cat(category)};
  llvm::cl::opt<bool> quiet{
      "quiet",
      llvm::cl::desc("no notices, remarks and progress on standard error"),
      llvm::cl::cat(category)};

  void set(DeviceOptions &options) const {
    options.explain = explain;
    options.fuse = fuse;
    options.maxSchedules = maxSchedules;
    options.tuned = tuned;
    options.tunedGpu = tunedGpu;
  }
};

/// Starts the main of tool `name`, which `verb`s a file. Returns false for
/// invalid options.
template <typename Options>
bool startCompiler(int argc, char **argv, const char *name, const char *verb,
                   const char *overview, Options &asked) {
  llvm::cl::HideUnrelatedOptions(asked.category);
  if (!parseOptions(argc, argv, overview))
    return false;
  if (!asked.inputFile.empty())
    return true;
  llvm::errs() << name << ": expected a file to " << verb << ", found none\n";
  return false;
}

} // namespace mx

#endif // MX_TOOLS_TOOL_H
