//===- InputFile.h - What may be read as a file -----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef MX_SUPPORT_INPUTFILE_H
#define MX_SUPPORT_INPUTFILE_H

#include <string>

namespace mx {

/// Whether `path` can be read to its end, asked before it is opened: a named
/// pipe waits for a writer, and some devices have no end. Files can, and so can
/// /dev/null and pipes that a shell gives by descriptor (`<(...)`, /dev/stdin).
/// Returns an empty string, or the message; empty too where nothing is found,
/// which the caller's own attempt to open it tells.
std::string checkInputFile(const std::string &path);

} // namespace mx

#endif // MX_SUPPORT_INPUTFILE_H
