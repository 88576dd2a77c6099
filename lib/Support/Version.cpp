//===- Version.cpp - Version of mx ----------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The only file that is recompiled for a new commit.
//===----------------------------------------------------------------------===//

#include "mx/Support/Version.h"

// scripts/check-cuda compiles without CMake, which generates this file.
#if __has_include("Commit.inc")
#include "Commit.inc"
#else
#define MX_VERSION "unknown"
#define MX_COMMIT ""
#endif

const char *mx::getVersion() { return MX_VERSION MX_COMMIT; }
