//===- StageUses.h - Who reads and writes a stage ----------------*- C++
//-*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// What decides which fences stand where a stage changes hands.
//
//===----------------------------------------------------------------------===//

#ifndef MX_LIB_CONVERSION_MXGPUTONVVM_RINGS_STAGEUSES_H
#define MX_LIB_CONVERSION_MXGPUTONVVM_RINGS_STAGEUSES_H

#include "mx/Dialect/MXGPU/IR/MXGPU.h"

namespace mx::mxgpu {

/// Whether the tensor core fills or empties the stages: its accesses have an
/// order of their own (PTX ISA, tcgen05.fence).
bool isOfTensorCore(RingType type);

/// Whether asynchronous copies fill the stages, or answers that arrive like
/// copies.
bool isWrittenByCopies(RingType type);

/// Whether threads themselves read the stage that `take` gives, not only matrix
/// instructions, which read in the way in which copies write.
bool isReadByThreads(RingType type, mlir::Operation *take);

/// Whether `give` comes after all that is computed from what threads read in
/// the stage, up to matrix instructions and stores. Registers then have it, and
/// no thread reads the stage any more.
bool isUsedBefore(mlir::Operation *take, mlir::Operation *give);

} // namespace mx::mxgpu

#endif // MX_LIB_CONVERSION_MXGPUTONVVM_RINGS_STAGEUSES_H
