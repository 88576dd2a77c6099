//===- InputFile.h - Rules of files that documents name ---------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef MX_SUPPORT_INPUTFILE_H
#define MX_SUPPORT_INPUTFILE_H

#include <string>
#include <string_view>

namespace mx {

/// Whether `path` can be read to its end, asked before it is opened: a named
/// pipe waits for a writer, and some devices have no end. Files can, and so can
/// /dev/null and pipes that a shell gives by descriptor (`<(...)`, /dev/stdin).
/// Returns an empty string, or the message; empty too where nothing is found,
/// which the caller's own attempt to open it tells.
std::string checkInputFile(const std::string &path);

/// Returns true if `name` is a plain file name, in the folder of the document
/// that contains it.
bool isFileBeside(std::string_view name);

} // namespace mx

#endif // MX_SUPPORT_INPUTFILE_H
