//===- MXLayouts.h - Shapes of scales and ragged tensors --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Queries about the shapes of scale tensors, for verifiers, tiling,
// materialization and lowerings. A type defines the layout of scales by its
// encoding (logical shape) or by its physical shape (materialized). Dynamic
// sizes (ShapedType::kDynamic) are preserved.
//
//===----------------------------------------------------------------------===//

#ifndef MX_DIALECT_MX_IR_MXLAYOUTS_H
#define MX_DIALECT_MX_IR_MXLAYOUTS_H

#include "mlir/IR/BuiltinTypes.h"
#include "mx/Dialect/MX/IR/MXEnums.h.inc"
#include "mx/Dialect/Shared/OperandOrder.h"
#include "mx/Dialect/Shared/ScaleRounding.h"
#include "mx/Support/ScaleLayout.h"

namespace mx {

/// Returns true if `scales` is a physical sf_128x4 tensor. `logicalRank` is the
/// rank of the elements.
bool isMaterialized(mlir::ShapedType scales, int64_t logicalRank);

/// Returns the layout kind of scales in either form.
ScaleLayoutKind getLayoutKind(mlir::ShapedType scales, int64_t logicalRank);

/// Returns [batch..., tile rows, tile columns, 32, 4, 4] for a logical shape
/// [batch..., rows, blocks].
llvm::SmallVector<int64_t> getMaterializedShape(llvm::ArrayRef<int64_t> logical,
                                                RaggedKind ragged,
                                                int64_t groups);

/// Returns `type` without its encoding: the physical tensor of a sf_128x4
/// layout or of an order, and the same shape for `linear` and `#mx.ragged`.
/// Types without layout or order are unchanged.
mlir::RankedTensorType getMaterializedType(mlir::RankedTensorType type);

/// Returns true if the physical tensor of `type` is tiled, so the logical shape
/// cannot be recovered.
bool hasTiledLayout(mlir::RankedTensorType type);

/// Returns true if the encoding of `type` is a layout of mx or an order.
bool hasMXEncoding(mlir::Type type);

/// Returns the size of the last dimension of a ragged reduction over `total`
/// elements in `groups` groups. The capacity is rounded up so that each row is
/// aligned.
int64_t getRaggedCapacity(int64_t total, int64_t groups);

/// Returns the size of a list of expert groups, a 1-D tensor or memref.
int64_t getNumExperts(mlir::Value offsets);

} // namespace mx

#endif // MX_DIALECT_MX_IR_MXLAYOUTS_H
