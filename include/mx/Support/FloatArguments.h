//===- FloatArguments.h - Conversion of float arguments ---------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Float types that an argument accepts in addition to its own type, in all
// tools that read .npy arguments:
//
//   argument   accepts          conversion
//   bf16       f16, f32, f64    rounded once, to nearest, ties to even
//   f32        f16, f64         f16 exact, f64 rounded as for bf16
//   f64        f16, f32         exact
//
// The argument types have at least the range of f32. f16 arguments accept no
// other type, because ordinary f32 values above 65504 would become infinite.
// Integers are never converted, because u2 may contain bits of bf16.
//===----------------------------------------------------------------------===//

#ifndef MX_SUPPORT_FLOATARGUMENTS_H
#define MX_SUPPORT_FLOATARGUMENTS_H

#include "mxsim/io/Npy.h"

#include <string>
#include <string_view>
#include <vector>

namespace mx {

/// Returns true if an argument of `type` (as MLIR prints it) accepts an array
/// of `dtype` by conversion.
bool convertsFloats(std::string_view type, std::string_view dtype);

/// Returns a remedy for an array of `dtype` that an argument of `type` does not
/// accept, or an empty string. Callers append it to "expected ..., found ...".
std::string adviseOnFloats(std::string_view type, std::string_view dtype);

/// Conversions of the arguments of a run.
class FloatConversions {
public:
  /// Converts the items of `array`, read from `path`, to `type` if
  /// convertsFloats. NaNs keep their sign. Values beyond the range become
  /// infinite. Returns an empty string or an error message.
  std::string convert(const std::string &path, std::string_view type,
                      NpyArray &array);

  /// Returns a one-line summary, or an empty string without conversions.
  std::string text() const;

private:
  std::vector<std::string> notes;
  bool isRounded = false;
};

} // namespace mx

#endif // MX_SUPPORT_FLOATARGUMENTS_H
