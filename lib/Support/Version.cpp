//===- Version.cpp - Which mx this is -------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The only file that a new commit compiles again.
//===----------------------------------------------------------------------===//

#include "mx/Support/Version.h"

#include "Commit.inc"

const char *mx::getVersion() { return MX_VERSION MX_COMMIT; }
