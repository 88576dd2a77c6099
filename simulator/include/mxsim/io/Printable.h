//===- Printable.h - Safe terminal output of untrusted text -----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef MXSIM_IO_PRINTABLE_H
#define MXSIM_IO_PRINTABLE_H

#include <string>
#include <string_view>

namespace mx {

/// Escapes control characters other than newline and tab, and invalid UTF-8, as
/// `\x1B`. Apply to every printed message: names in messages are read from
/// files, and a terminal would interpret their escape sequences.
std::string printable(std::string_view text);

} // namespace mx

#endif // MXSIM_IO_PRINTABLE_H
