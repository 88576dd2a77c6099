//===- OutputFile.h - Write whole files or none -----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef MXSIM_IO_OUTPUTFILE_H
#define MXSIM_IO_OUTPUTFILE_H

#include <initializer_list>
#include <string>
#include <string_view>

namespace mx {

/// Writes the pieces beside the target of `path` and renames, so that a failure
/// or a concurrent writer leaves one whole file. Follows symbolic links and
/// keeps permissions; hard links keep the old file. Devices, pipes, this
/// process's standard output and error, and files that no other can replace are
/// written in place. Returns an empty string, or the message.
std::string writeOutputFile(const std::string &path,
                            std::initializer_list<std::string_view> pieces);

} // namespace mx

#endif // MXSIM_IO_OUTPUTFILE_H
