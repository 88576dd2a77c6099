//===- MXLayouts.h - Shapes of scales and ragged tensors --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// What verifiers, tiling, materialization and lowerings ask about the shape of
// a scale tensor: a type says where scales lie either by its
// encoding (logical shape) or by its physical shape (materialized). Sizes may
// be dynamic, which is ShapedType::kDynamic here and stays so.
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

/// True if `scales` is a physical sf_128x4 tensor, given the rank of its
/// logical shape, which is the rank of the elements that it belongs to.
bool isMaterialized(mlir::ShapedType scales, int64_t logicalRank);

/// The layout kind of scales in either form.
ScaleLayoutKind getLayoutKind(mlir::ShapedType scales, int64_t logicalRank);

/// [batch..., tile rows, tile columns, 32, 4, 4] for a logical shape
/// [batch..., rows, blocks].
llvm::SmallVector<int64_t> getMaterializedShape(llvm::ArrayRef<int64_t> logical,
                                                RaggedKind ragged,
                                                int64_t groups);

/// `type` without its encoding: the physical tensor of a sf_128x4 layout or of
/// an order, and the same shape for `linear` and `#mx.ragged`. A type without a
/// layout or order is returned as it is.
mlir::RankedTensorType getMaterializedType(mlir::RankedTensorType type);

/// True if the physical tensor of `type` has tiles, and so does not tell the
/// logical shape.
bool hasTiledLayout(mlir::RankedTensorType type);

/// True if the encoding of `type` is a layout of this dialect or an order.
bool hasMXEncoding(mlir::Type type);

/// Size of the last dimension of a ragged reduction over `total` elements in
/// `groups` groups: the capacity, rounded up so that every row starts at an
/// aligned address.
int64_t getRaggedCapacity(int64_t total, int64_t groups);

/// Size of a list of expert groups, a 1-D tensor or memref.
int64_t getNumExperts(mlir::Value offsets);

} // namespace mx

#endif // MX_DIALECT_MX_IR_MXLAYOUTS_H
