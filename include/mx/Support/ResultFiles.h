//===- ResultFiles.h - Where results are to be written ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef MX_SUPPORT_RESULTFILES_H
#define MX_SUPPORT_RESULTFILES_H

#include <string>
#include <vector>

namespace mx {

/// What can be known about writing results before there are any: a run that
/// ends with a message about a directory has been in vain. Returns an empty
/// string, or the message.
std::string checkResultFiles(const std::vector<std::string> &paths);

} // namespace mx

#endif // MX_SUPPORT_RESULTFILES_H
