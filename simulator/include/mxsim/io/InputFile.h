//===- InputFile.h - Checks of input files named in documents ---*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef MXSIM_IO_INPUTFILE_H
#define MXSIM_IO_INPUTFILE_H

#include <string>
#include <string_view>

namespace mx {

/// Checks, before `path` is opened, that reading will reach an end. Rejects
/// named pipes, which wait for a writer, and endless devices. Accepts regular
/// files, /dev/null, and pipes that a shell passes by descriptor (`<(...)`,
/// /dev/stdin). Returns an error message or an empty string. A missing file is
/// not an error here; opening it fails in the caller.
std::string checkInputFile(const std::string &path);

/// Reads a whole file into `text`, after checkInputFile(). Returns an error
/// message or an empty string.
std::string readInputFile(const std::string &path, std::string &text);

/// Returns true if `name` is a plain file name, without a directory.
bool isFileBeside(std::string_view name);

} // namespace mx

#endif // MXSIM_IO_INPUTFILE_H
