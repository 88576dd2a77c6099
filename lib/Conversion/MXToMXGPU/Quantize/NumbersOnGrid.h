//===- NumbersOnGrid.h - Quantized and dequantized at once ------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// A quantizer along rows, and what dequantizes its result, as one kernel.
//
//===----------------------------------------------------------------------===//

#ifndef MX_LIB_CONVERSION_MXTOMXGPU_QUANTIZE_NUMBERSONGRID_H
#define MX_LIB_CONVERSION_MXTOMXGPU_QUANTIZE_NUMBERSONGRID_H

#include "../KernelBuilder.h"

namespace mx::mxgpu {

/// What dequantizes all that `op` writes, if nothing else reads it, so that the
/// numbers can be written instead; null if there is no such operation.
DequantizeOp findNumbers(QuantizeOp op);

} // namespace mx::mxgpu

#endif // MX_LIB_CONVERSION_MXTOMXGPU_QUANTIZE_NUMBERSONGRID_H
