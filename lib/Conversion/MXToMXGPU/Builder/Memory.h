//===- Memory.h - Device memory in host code --------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Views, addresses, allocation and clearing of memrefs.
//
//===----------------------------------------------------------------------===//

#ifndef MX_LIB_CONVERSION_MXTOMXGPU_BUILDER_MEMORY_H
#define MX_LIB_CONVERSION_MXTOMXGPU_BUILDER_MEMORY_H

#include "KernelBuilder.h"

namespace mx::mxgpu {

/// Returns the address of the first element of a memref or of a view of one.
mlir::Value getAddress(KernelBuilder &host, mlir::Value memref);

/// Returns the bytes that mx-store-as-bytes makes of elements of 4 and 6 bits.
mlir::Value toBytes(KernelBuilder &host, mlir::Value elements);
/// Returns a contiguous memref as a matrix of one row.
mlir::Value toRow(KernelBuilder &host, mlir::Value memref);
/// Returns a memref with its first `count` dimensions collapsed into one; with
/// a count below 2 the memref itself.
mlir::Value collapseLeading(KernelBuilder &host, mlir::Value memref,
                            int64_t count);

/// Writes zeros over a whole memref, before later operations.
void clearMemory(KernelBuilder &host, mlir::Value memref);
/// Allocates a list of `size` i32; the caller frees it.
mlir::Value allocateList(KernelBuilder &host, mlir::Value size);

} // namespace mx::mxgpu

#endif // MX_LIB_CONVERSION_MXTOMXGPU_BUILDER_MEMORY_H
