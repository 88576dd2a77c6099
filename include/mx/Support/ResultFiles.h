//===- ResultFiles.h - Checks of result paths -------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef MX_SUPPORT_RESULTFILES_H
#define MX_SUPPORT_RESULTFILES_H

#include <string>
#include <vector>

namespace mx {

/// Checks the paths of result files before a run, because an invalid path would
/// waste the run. Returns an empty string or an error message.
std::string checkResultFiles(const std::vector<std::string> &paths);

} // namespace mx

#endif // MX_SUPPORT_RESULTFILES_H
