//===- Version.cpp - Version of mx ----------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Only this file depends on the commit, so new commits recompile little.
//===----------------------------------------------------------------------===//

#include "mx/Support/Version.h"

// CMake generates Commit.inc. scripts/check-cuda compiles without CMake.
#if __has_include("Commit.inc")
#include "Commit.inc"
#else
#define MX_VERSION "unknown"
#define MX_COMMIT ""
#endif

const char *mx::getVersion() { return MX_VERSION MX_COMMIT; }
