//===- Tool.h - Utilities for tools -----------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Prints versions, checks options and inputs, and handles exhausted memory, for
// which LLVM would abort.
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

/// Exit status of upstream's drivers on any error.
constexpr int kExitUpstream = 1;

/// Initializes the tool `name`. The main function of a tool must call this
/// function first. If memory is exhausted, the tool exits with the status
/// `kOutOfMemory`.
template <int kOutOfMemory = kExitBadInput>
void initTool(const char *name) {
  llvm::cl::SetVersionPrinter([](llvm::raw_ostream &os) {
    os << "mx " << getVersion() << "\nLLVM " << LLVM_VERSION_STRING << '\n';
  });
  // LLVM does not support https://no-color.org.
  if (const char *value = std::getenv("NO_COLOR"); value && *value)
    llvm::WithColor::setAutoDetectFunction(
        [](const llvm::raw_ostream &) { return false; });
  handleOutOfMemory(name, kOutOfMemory);
  // LLVM sets a new-handler that calls LLVM's own handler. Therefore, remove
  // the tool's new-handler and set the tool's handler as LLVM's handler.
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

/// Checks the input files of a driver that parses its options itself. All words
/// without a dash are inputs, except for the word after -o.
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

/// Options of all tools that compile a file. The main function creates them,
/// because libmx contains the main functions of several tools, whose options
/// have equal names.
struct CompilerOptions {
  explicit CompilerOptions(const char *title) : category(title) {}

  llvm::cl::OptionCategory category;
  llvm::cl::opt<std::string> inputFile{llvm::cl::Positional,
                                       llvm::cl::desc("FILE.mlir"),
                                       llvm::cl::cat(category)};
  llvm::cl::opt<bool> fuse{
      "fuse", llvm::cl::init(true),
      llvm::cl::desc("fuse elementwise operations into quantizers and into "
                     "the epilogues of matmuls (the default)"),
      llvm::cl::cat(category)};
  llvm::cl::opt<int64_t> maxSchedules{
      "max-schedules", llvm::cl::init(target::kMaxSchedules),
      llvm::cl::value_desc("N"),
      llvm::cl::desc("maximum number of schedules for a matmul with dynamic "
                     "rows, groups or reduction; with 1, the sums of a row "
                     "do not depend on the number of rows"),
      llvm::cl::cat(category)};
  llvm::cl::opt<bool> peerStores{
      "peer-stores",
      llvm::cl::desc("let kernels access windows of other ranks if the ranks "
                     "map each other's windows; no effect on the results"),
      llvm::cl::cat(category)};
  llvm::cl::opt<std::string> tuned{
      "tuned", llvm::cl::value_desc("FILE"),
      llvm::cl::desc("table of measured schedules, which are preferred to "
                     "the model's; mx-compile --tune writes the table"),
      llvm::cl::cat(category)};
  llvm::cl::opt<std::string> tunedGpu{
      "tuned-gpu", llvm::cl::value_desc("NAME"),
      llvm::cl::desc("use the table's entries for this GPU; default: the "
                     "only GPU with entries for the chip"),
      llvm::cl::cat(category)};
  llvm::cl::opt<bool> explain{
      "mx-explain",
      llvm::cl::desc("print the schedule and memory map of each matmul, and "
                     "why other schedules were rejected"),
      llvm::cl::cat(category)};
  llvm::cl::opt<bool> quiet{
      "quiet",
      llvm::cl::desc("print no notices, remarks or progress to standard "
                     "error"),
      llvm::cl::cat(category)};

  void set(DeviceOptions &options) const {
    options.explain = explain;
    options.fuse = fuse;
    options.maxSchedules = maxSchedules;
    options.peerStores = peerStores;
    options.tuned = tuned;
    options.tunedGpu = tunedGpu;
  }
};

/// Parses the options of the tool `name`. `verb` names the tool's action on
/// its input file. Returns false after a message if the options are invalid.
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
