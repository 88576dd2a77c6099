//===- HostChecks.h - Checks of operands on the host ---------- -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Checks of the sizes, strides and addresses that a kernel depends on:
// `verify*` at compile time, `require*` at run time before the launch.
//===----------------------------------------------------------------------===//

#ifndef MX_LIB_CONVERSION_MXTOMXGPU_BUILDER_HOSTCHECKS_H
#define MX_LIB_CONVERSION_MXTOMXGPU_BUILDER_HOSTCHECKS_H

#include "KernelBuilder.h"
#include "llvm/ADT/Twine.h"

namespace mx::mxgpu {

/// Maximum number of CTAs in a grid. Kernels use 32-bit work tile numbers.
inline constexpr int64_t kMaxWorkTiles = target::kMaxGridX;

/// Maximum rows or columns, a multiple of every tile size up to 256. Bulk-copy
/// coordinates are signed 32-bit integers (PTX ISA, cp.async.bulk.tensor).
inline constexpr int64_t kMaxExtent =
    std::numeric_limits<int32_t>::max() / 256 * 256;

/// Message of `requireAtMost` before and after the name of the size.
inline constexpr llvm::StringLiteral kAtMostMessage = "expected at most %lld ",
                                     kFoundMessage = ", found %lld";

/// Requires a size to be `expected`; messages call it `what`.
void requireSize(KernelBuilder &host, mlir::Value found, mlir::Value expected,
                 const llvm::Twine &what);
/// Requires a size to be a multiple of `factor`; messages call it `what`.
void requireMultiple(KernelBuilder &host, mlir::Value found, int64_t factor,
                     const llvm::Twine &what);
/// Requires a size of at most `limit`.
void requireAtMost(KernelBuilder &host, mlir::Value found, int64_t limit,
                   const llvm::Twine &what);
/// Requires at least one expert group in `offsets`, unless they are null.
void requireExperts(KernelBuilder &host, mlir::Value offsets);
/// Requires scales for `rows x columns` elements in blocks of `block`. Tiled
/// scales of expert groups contain `rowTiles` row tiles. Messages call the
/// scales `name`. The first `batch` dimensions are batch dimensions.
void requireScaleSizes(KernelBuilder &host, mlir::Value scales,
                       mlir::Value rows, mlir::Value columns, BlockShape block,
                       mlir::Value rowTiles = {},
                       llvm::StringRef name = "scales", int64_t batch = 0);

/// Requires and returns a finite NVFP4 factor above 0. An invalid factor in
/// device memory becomes NaN, since the host does not wait for the value.
mlir::Value checkPositive(KernelBuilder &host, mlir::Value scale);

// The copy engine and 16-byte loads need aligned rows that do not overlap (CUDA
// driver API, cuTensorMapEncodeTiled).

/// Returns true if elements are whole bytes and each row is contiguous, even if
/// the matrix is strided.
bool mayHaveStride(mlir::MemRefType type);
/// Fails if the static row stride is not a multiple of `multiple` elements or
/// is smaller than a row; messages call the matrix `name`.
llvm::LogicalResult verifyRowStride(mlir::Operation *op, mlir::MemRefType type,
                                    int64_t multiple, llvm::StringRef name);
/// Requires a dynamic row stride to satisfy the same rule at run time, and the
/// first row to be aligned to `alignment` bytes.
void requireRows(KernelBuilder &host, mlir::Value matrix, int64_t multiple,
                 int64_t alignment, const llvm::Twine &name);

/// Fails if a static size exceeds a limit of a launch in `root`, because the
/// program would always fail at run time.
llvm::LogicalResult verifyKnownSizes(mlir::Operation *root);

} // namespace mx::mxgpu

#endif // MX_LIB_CONVERSION_MXTOMXGPU_BUILDER_HOSTCHECKS_H
