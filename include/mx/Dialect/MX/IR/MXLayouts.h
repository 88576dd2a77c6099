//===- MXLayouts.h - Shapes of scales and ragged tensors --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Queries about the shapes of scale tensors, for verifiers, tiling,
// materialization and lowerings. Types with the logical shape specify the
// layout of scales in their encoding. Materialized types specify the layout by
// their physical shape. Dynamic sizes (ShapedType::kDynamic) are preserved.
//===----------------------------------------------------------------------===//

#ifndef MX_DIALECT_MX_IR_MXLAYOUTS_H
#define MX_DIALECT_MX_IR_MXLAYOUTS_H

#include "mlir/IR/BuiltinTypes.h"
#include "mx/Dialect/MX/IR/MXEnums.h.inc"
#include "mx/Dialect/Shared/OperandOrder.h"
#include "mx/Dialect/Shared/ScaleRounding.h"
#include "mx/Support/ScaleLayout.h"

namespace mx {

struct BlockShape;

/// Returns the rounding of scales without the attribute `scale_rounding`.
ScaleRounding getDefaultRounding(mlir::Type scale, BlockShape shape);

/// Rows of scales in layout mn_major are padded to a multiple of 16 bytes.
inline constexpr int64_t kMNMajorRows = 4;

/// Returns true if `scales` is a physical tensor in a layout other than linear.
/// `logicalRank` is the rank of the elements.
bool isMaterialized(mlir::ShapedType scales, int64_t logicalRank);

/// Returns the layout kind of scales, encoded or materialized.
ScaleLayoutKind getLayoutKind(mlir::ShapedType scales, int64_t logicalRank);

/// Returns the physical shape of scales with the logical shape
/// [batch..., rows, blocks]: [batch..., tile rows, tile columns, 32, 4, 4] for
/// sf_128x4, and [batch..., blocks, rows / 4, 4] for mn_major.
llvm::SmallVector<int64_t> getMaterializedShape(ScaleLayoutKind kind,
                                                llvm::ArrayRef<int64_t> logical,
                                                RaggedKind ragged,
                                                int64_t groups);

/// Returns the type of the physical tensor, which has no encoding. Layouts
/// sf_128x4 and mn_major and some operand orders change the shape; `linear` and
/// #mx.ragged keep the shape. Types without layout or order are unchanged.
mlir::RankedTensorType getMaterializedType(mlir::RankedTensorType type);

/// Returns true if tiling hides the logical shape of the physical tensor.
bool hasTiledLayout(mlir::RankedTensorType type);

/// Returns true if the encoding of `type` is an mx layout or an operand order.
bool hasMXEncoding(mlir::Type type);

/// Returns the size of the last dimension of a ragged reduction over `total`
/// elements in `groups` groups, rounded up so that each row is aligned.
int64_t getRaggedCapacity(int64_t total, int64_t groups);

/// Returns the size of the 1-D `offsets`, the number of expert groups.
int64_t getNumExperts(mlir::Value offsets);

} // namespace mx

#endif // MX_DIALECT_MX_IR_MXLAYOUTS_H
