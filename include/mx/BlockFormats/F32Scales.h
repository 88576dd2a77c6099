//===- F32Scales.h - Codecs of scales by f32 arithmetic ---------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef MX_BLOCKFORMATS_F32SCALES_H
#define MX_BLOCKFORMATS_F32SCALES_H

#include "mx/BlockFormats/BlockFormat.h"
#include "mx/Dialect/Shared/ArithBuilder.h"

namespace mx {

/// Emits f32 arithmetic for codecs.
class ScaleArith : public ArithBuilder {
public:
  using ArithBuilder::ArithBuilder;

  mlir::Value f32(float value);
  mlir::Value toBits(mlir::Value number) {
    return bitcast(getI32Type(), number);
  }
  mlir::Value toFloat(mlir::Value bits) { return bitcast(getF32Type(), bits); }
  mlir::Value compare(mlir::arith::CmpFPredicate predicate, mlir::Value a,
                      float b);
  /// Returns `amax` divided by the largest magnitude of an element.
  mlir::Value getScale(mlir::Type element, mlir::Value amax);
  /// Returns 1 / scale, at most FLT_MAX, and 0 for a scale of 0.
  mlir::Value invert(mlir::Value scale);
};

/// Returns the codec for scales equal to the largest magnitude divided by the
/// largest element, rounded to f32 and, if `isCeil`, up to a power of two.
const ScaleCodec &getF32Codec(bool isCeil);

} // namespace mx

#endif // MX_BLOCKFORMATS_F32SCALES_H
