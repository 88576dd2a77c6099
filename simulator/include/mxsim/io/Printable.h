//===- Printable.h - Text from files on terminals ---------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef MXSIM_IO_PRINTABLE_H
#define MXSIM_IO_PRINTABLE_H

#include <string>
#include <string_view>

namespace mx {

/// The text with control characters other than newline and tab, and bytes that
/// are not UTF-8, as `\x1B`. Whatever prints a message passes it through this:
/// names in it come from files, and a terminal would obey what they hold.
std::string printable(std::string_view text);

} // namespace mx

#endif // MXSIM_IO_PRINTABLE_H
