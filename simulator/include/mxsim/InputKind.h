//===- InputKind.h - Files that are not PTX text ----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef MXSIM_INPUTKIND_H
#define MXSIM_INPUTKIND_H

#include <string_view>

namespace mx::sim {

/// What a file is, and what makes PTX of it.
struct InputKind {
  const char *name;
  const char *advice;
};

/// What is given where PTX is expected, by its first bytes or words; null for
/// PTX and for what is not known.
const InputKind *kindOfOtherInput(std::string_view text);

/// Whether the first word of the text, after comments, is that of PTX.
bool beginsAsPtx(std::string_view text);

} // namespace mx::sim

#endif // MXSIM_INPUTKIND_H
