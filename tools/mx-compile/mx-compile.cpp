//===- mx-compile.cpp - Compile a file to a directory ---------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "../Tool.h"
#include "mx/AheadOfTime/Compile.h"
#include "llvm/Support/InitLLVM.h"

namespace cl = llvm::cl;

namespace {

/// Registered by the main: libmx has the mains of several tools in it, whose
/// options share names.
struct Options {
  cl::OptionCategory category{"mx-compile options"};
  cl::opt<std::string> inputFile{cl::Positional, cl::desc("FILE.mlir"),
                                 cl::cat(category)};
  cl::opt<std::string> output{"o", cl::value_desc("DIR"),
                              cl::desc("where the program goes"),
                              cl::cat(category)};
  cl::opt<std::string> chip{"chip", cl::init("sm_100a"),
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
  cl::opt<bool> fuse{
      "fuse", cl::init(true),
      cl::desc("compute what is quantized where it is quantized, and finish "
               "products where they are computed (the default)"),
      cl::cat(category)};
  cl::opt<bool> explain{
      "mx-explain",
      cl::desc("print which schedule each matmul gets, its memory map "
               "and why others lost"),
      cl::cat(category)};
};

} // namespace

extern "C" int mxCompileMain(int argc, char **argv) {
  static Options asked;
  mx::initTool("mx-compile");
  llvm::InitLLVM init(argc, argv);
  cl::HideUnrelatedOptions(asked.category);
  if (!mx::parseOptions(argc, argv, "mx: compile to a directory\n"))
    return mx::kExitBadInput;
  if (asked.inputFile.empty()) {
    llvm::errs() << "mx-compile: expected a file to compile, found none\n";
    return mx::kExitBadInput;
  }
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
  return mx::compileToDirectory(options);
}
