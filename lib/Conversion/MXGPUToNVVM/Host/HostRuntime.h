//===- HostRuntime.h - Calls of the runtime ---------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef MX_LIB_CONVERSION_MXGPUTONVVM_HOST_HOSTRUNTIME_H
#define MX_LIB_CONVERSION_MXGPUTONVVM_HOST_HOSTRUNTIME_H

#include "../Common/Lowering.h"

namespace mx::mxgpu {

/// Calls a function of the runtime and declares it if necessary.
mlir::Value callRuntime(NVVMBuilder &builder, llvm::StringRef name,
                        mlir::Type result, mlir::ValueRange arguments,
                        bool isVariadic = false);
/// Returns the base pointer of a memref, without its offset.
mlir::Value getBasePointer(NVVMBuilder &builder, mlir::Value memref);
/// Returns the pointer to the first element of a memref.
mlir::Value getPointer(NVVMBuilder &builder, mlir::Value memref);
mlir::Value getDefaultStream(NVVMBuilder &builder);
/// Allocates `count` values in the entry block, so loops do not grow the
/// stack. The slot is dead at the end of each iteration.
mlir::Value allocateOnStack(NVVMBuilder &builder, mlir::Type type,
                            int64_t count, unsigned alignment = 0);
/// Stores values to an array on the stack and returns its address.
mlir::Value storeArray(NVVMBuilder &builder, llvm::ArrayRef<mlir::Value> values,
                       mlir::Type type);

/// Fill function of the runtime, missing in upstream's runtime.
inline constexpr llvm::StringLiteral kMemset = "mxMemset";

/// Redirects references to host constants to device copies, which the runtime
/// creates once for each constant of a module.
void loadConstants(mlir::ModuleOp module);

/// Lowers allocations, fills and copies to device memory.
void addHostMemoryPatterns(const mlir::TypeConverter &converter,
                           mlir::RewritePatternSet &patterns);

} // namespace mx::mxgpu

#endif // MX_LIB_CONVERSION_MXGPUTONVVM_HOST_HOSTRUNTIME_H
