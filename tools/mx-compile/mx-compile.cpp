//===- mx-compile.cpp - Compile a file to a directory ---------------------===//
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
                              cl::desc("where the program goes"),
                              cl::cat(category)};
  cl::opt<std::string> chip{"chip", cl::init(mx::target::kDefaultChip),
                            cl::desc("GPU to compile for"), cl::cat(category)};
  cl::list<std::string> entries{
      "entry", cl::value_desc("NAME"),
      cl::desc("a function to compile; default: all public ones"),
      cl::cat(category)};
  cl::opt<std::string> ptxas{
      "ptxas", cl::value_desc("PATH"),
      cl::desc("the assembler that makes the cubin, or none; default: one "
               "that is found"),
      cl::cat(category)};
};

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
  options.fuse = asked.fuse;
  options.explain = asked.explain;
  options.maxSchedules = asked.maxSchedules;
  options.quiet = asked.quiet;
  return mx::compileToDirectory(options);
}
