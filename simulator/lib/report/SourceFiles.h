//===- SourceFiles.h - Files named in reports -------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef MXSIM_LIB_REPORT_SOURCEFILES_H
#define MXSIM_LIB_REPORT_SOURCEFILES_H

#include "mxsim/Report.h"

namespace mx::sim {

/// Returns the path of a file of .loc or of a module: the name itself, or a
/// file beside a module. Returns `name` if neither exists.
std::string findSource(const LaunchFileResult &result, const std::string &name);
/// Returns the text of such a file, or "" if it cannot be read or exceeds
/// 1 MiB.
std::string readSource(const LaunchFileResult &result, const std::string &name);

} // namespace mx::sim

#endif // MXSIM_LIB_REPORT_SOURCEFILES_H
