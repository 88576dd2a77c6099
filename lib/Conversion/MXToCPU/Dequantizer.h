//===- Dequantizer.h - Numbers that elements and scales stand for -*- C++
//-*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// An element times the scale of its block, rounded once: the results of
// mx.dequantize, and what a prologue is given of a quantized input.
//
//===----------------------------------------------------------------------===//

#ifndef MX_LIB_CONVERSION_MXTOCPU_DEQUANTIZER_H
#define MX_LIB_CONVERSION_MXTOCPU_DEQUANTIZER_H

#include "Emitter.h"

namespace mx::cpu {

class Dequantizer {
public:
  /// `decode` is the factor of an NVFP4 tensor, an f32, or null.
  Dequantizer(Emitter &emitter, Elements elements, Scales scales,
              mlir::Type numberType, mlir::Value decode = {});

  /// The scale of a block. Those of a group are given by `scales`.
  mlir::Value loadScale(const Scales &scales, llvm::ArrayRef<mlir::Value> batch,
                        Int row, Int block);
  /// The number at a place whose block has this scale.
  mlir::Value loadNumber(llvm::ArrayRef<mlir::Value> place, mlir::Value scale);
  /// The number at a place, with blocks of so many elements.
  mlir::Value loadNumber(llvm::ArrayRef<mlir::Value> place, int64_t blockSize);

private:
  Emitter &emitter;
  Elements elements;
  Scales scales;
  mlir::Type numberType;
  /// What codes stand for, and the factor as f64.
  mlir::Value values, scaleValues, factor;
};

} // namespace mx::cpu

#endif // MX_LIB_CONVERSION_MXTOCPU_DEQUANTIZER_H
