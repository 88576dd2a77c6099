//===- FloatArguments.h - Floats of another type as arguments ---*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which .npy arrays of floats an argument takes that are not of its own type,
// for all tools that read arguments:
//
//   argument   takes            how
//   bf16       f16, f32, f64    rounded once, to nearest, ties to even
//   f32        f16, f64         f16 exactly, f64 rounded likewise
//   f64        f16, f32         exactly
//
// Each has the range of f32, or takes what has less. f16 takes no other: it
// ends at 65504, and ordinary values of f32 would become infinite. Integers are
// never converted: u2 may be the bits of bf16, or integers.
//===----------------------------------------------------------------------===//

#ifndef MX_SUPPORT_FLOATARGUMENTS_H
#define MX_SUPPORT_FLOATARGUMENTS_H

#include "mxsim/io/Npy.h"

#include <string>
#include <string_view>
#include <vector>

namespace mx {

/// Whether an argument of `type`, as MLIR prints it, takes an array of `dtype`
/// that is converted.
bool convertsFloats(std::string_view type, std::string_view dtype);

/// What to do about an array of `dtype` that an argument of `type` does not
/// take, to be appended to "expected ..., found ..."; often empty.
std::string adviseOnFloats(std::string_view type, std::string_view dtype);

/// The conversions of one run.
class FloatConversions {
public:
  /// Makes the items of `array`, read from `path`, those of an argument of
  /// `type`, where convertsFloats. NaNs stay NaNs of their sign, and numbers
  /// beyond the range become infinite. Returns an empty string, or the message.
  std::string convert(const std::string &path, std::string_view type,
                      NpyArray &array);

  /// What was converted, in one line; empty if nothing was.
  std::string text() const;

private:
  std::vector<std::string> notes;
  bool isRounded = false;
};

} // namespace mx

#endif // MX_SUPPORT_FLOATARGUMENTS_H
