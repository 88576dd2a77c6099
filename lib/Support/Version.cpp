//===- Version.cpp - Which mx this is -------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The only file that a new commit compiles again.
//===----------------------------------------------------------------------===//

#include "mx/Support/Version.h"

// scripts/check-cuda compiles without CMake, which knows it.
#if __has_include("Commit.inc")
#include "Commit.inc"
#else
#define MX_VERSION "unknown"
#define MX_COMMIT ""
#endif

const char *mx::getVersion() { return MX_VERSION MX_COMMIT; }
