//===- HostRuntime.h - Calls of the runtime ---------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// What lowered host code asks of the runtime.
//
//===----------------------------------------------------------------------===//

#ifndef MX_LIB_CONVERSION_MXGPUTONVVM_HOST_HOSTRUNTIME_H
#define MX_LIB_CONVERSION_MXGPUTONVVM_HOST_HOSTRUNTIME_H

#include "../Common/Lowering.h"

namespace mx::mxgpu {

/// Calls a function of the runtime, declared in the module at first use.
mlir::Value callRuntime(NVVMBuilder &builder, llvm::StringRef name,
                        mlir::Type result, mlir::ValueRange arguments,
                        bool isVariadic = false);
/// Pointer to where the offset of a memref counts from.
mlir::Value getBasePointer(NVVMBuilder &builder, mlir::Value memref);
/// Pointer to the first element of a memref.
mlir::Value getPointer(NVVMBuilder &builder, mlir::Value memref);
mlir::Value getDefaultStream(NVVMBuilder &builder);
/// Room for `count` values on the stack, allocated at the entry of the
/// function: in a loop the stack would grow in each turn. Who fills it is done
/// with it before the next turn does.
mlir::Value allocateOnStack(NVVMBuilder &builder, mlir::Type type,
                            int64_t count, unsigned alignment = 0);
/// Values in an array on the stack, as the runtime takes them.
mlir::Value storeArray(NVVMBuilder &builder, llvm::ArrayRef<mlir::Value> values,
                       mlir::Type type);

/// The runtime's fill, which is not one of the functions that stock MLIR calls.
inline constexpr llvm::StringLiteral kMemset = "mxMemset";

/// Makes references to constants of the host ones to copies on the device,
/// which the runtime makes once for each constant of a module.
void loadConstants(mlir::ModuleOp module);

/// Allocations, fills and copies of device memory.
void addHostMemoryPatterns(const mlir::TypeConverter &converter,
                           mlir::RewritePatternSet &patterns);

} // namespace mx::mxgpu

#endif // MX_LIB_CONVERSION_MXGPUTONVVM_HOST_HOSTRUNTIME_H
