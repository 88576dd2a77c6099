//===- OutputFile.h - Atomic output files -----------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef MXSIM_IO_OUTPUTFILE_H
#define MXSIM_IO_OUTPUTFILE_H

#include <initializer_list>
#include <string>
#include <string_view>

namespace mx {

/// Writes the pieces to a temporary file in the directory of the target and
/// renames it, so that a failure or a concurrent writer leaves one complete
/// file. Follows symbolic links and keeps permissions; other hard links still
/// refer to the old file. Devices, pipes, standard output and error of this
/// process, and files that cannot be replaced are written in place. Returns an
/// error message or an empty string.
std::string writeOutputFile(const std::string &path,
                            std::initializer_list<std::string_view> pieces);

/// Returns "" if `path` is writable. Creates nothing, because bad input must
/// leave no files; checked early because runs take long.
std::string whyNotWritable(const std::string &path);

} // namespace mx

#endif // MXSIM_IO_OUTPUTFILE_H
