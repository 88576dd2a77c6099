//===- InputKind.h - Detection of input that is not PTX text ----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef MXSIM_INPUTKIND_H
#define MXSIM_INPUTKIND_H

#include <string_view>

namespace mx::sim {

/// Kind of a file, and advice on how to turn the file into PTX.
struct InputKind {
  const char *name;
  const char *advice;
};

/// Identifies text given in place of PTX by its first bytes or words. Returns
/// null for PTX and for unknown text.
const InputKind *kindOfOtherInput(std::string_view text);

/// Returns true if the first word after any comments is a PTX directive.
bool beginsAsPtx(std::string_view text);

} // namespace mx::sim

#endif // MXSIM_INPUTKIND_H
