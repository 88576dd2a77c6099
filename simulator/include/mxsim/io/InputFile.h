//===- InputFile.h - Rules of files that documents name ---------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef MXSIM_IO_INPUTFILE_H
#define MXSIM_IO_INPUTFILE_H

#include <string>
#include <string_view>

namespace mx {

/// Whether `path` can be read to its end, asked before it is opened: a named
/// pipe waits for a writer, and some devices have no end. Files can, and so can
/// /dev/null and pipes that a shell gives by descriptor (`<(...)`, /dev/stdin).
/// Returns an empty string, or the message; empty too where nothing is found,
/// which the caller's own attempt to open it tells.
std::string checkInputFile(const std::string &path);

/// Reads a whole file into `text`, after checkInputFile. Returns an empty
/// string, or the message.
std::string readInputFile(const std::string &path, std::string &text);

/// Returns true if `name` is a plain file name, in the folder of the document
/// that contains it.
bool isFileBeside(std::string_view name);

} // namespace mx

#endif // MXSIM_IO_INPUTFILE_H
