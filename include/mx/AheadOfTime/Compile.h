//===- Compile.h - Compile a file to a directory ----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// What mx-compile does, as a library: a tool only parses flags.
//
//===----------------------------------------------------------------------===//

#ifndef MX_AHEADOFTIME_COMPILE_H
#define MX_AHEADOFTIME_COMPILE_H

#include <string>
#include <vector>

namespace mx {

struct CompileToDirectoryOptions {
  std::string inputFile;
  std::string outputDirectory;
  std::string chip = "sm_100a";
  /// Functions to compile; all public ones when empty.
  std::vector<std::string> entries;
  /// The assembler: a path, "none", or empty to look for one.
  std::string ptxas;
  /// Print to stderr which schedule each matmul gets, and why.
  bool explain = false;
  /// Whether operations are fused (mx-to-mxgpu's `fuse`).
  bool fuse = true;
};

/// Writes kernels.ptx, kernels.cubin where there is a ptxas, a C header and
/// manifest.json, and returns an ExitStatus: kExitFault where ptxas failed.
/// Messages go to stderr; nothing is written unless everything was compiled.
int compileToDirectory(const CompileToDirectoryOptions &options);

} // namespace mx

#endif // MX_AHEADOFTIME_COMPILE_H
