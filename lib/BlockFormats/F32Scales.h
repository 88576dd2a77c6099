//===- F32Scales.h - Codecs of f32 scales -----------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef MX_LIB_BLOCKFORMATS_F32SCALES_H
#define MX_LIB_BLOCKFORMATS_F32SCALES_H

namespace mx {

class ScaleCodec;

/// Returns the codec for scales equal to the largest magnitude divided by the
/// largest element, rounded to f32 and, if `isCeil`, up to a power of two.
const ScaleCodec &getF32Codec(bool isCeil);

} // namespace mx

#endif // MX_LIB_BLOCKFORMATS_F32SCALES_H
