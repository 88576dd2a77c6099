//===- LaunchArrays.cpp - Arrays that launches access ---------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "mx/Dialect/MXGPU/IR/LaunchArrays.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Interfaces/ViewLikeInterface.h"

using namespace mlir;
using namespace mx::mxgpu;

Value mx::mxgpu::findArray(Value memref) {
  if (auto map = memref.getDefiningOp<EncodeTensorMapOp>())
    memref = map.getSource();
  while (true) {
    if (auto view = memref.getDefiningOp<ViewLikeOpInterface>())
      memref = view.getViewSource();
    else if (auto transpose = memref.getDefiningOp<memref::TransposeOp>())
      memref = transpose.getIn();
    else if (auto bytes = memref.getDefiningOp<UnrealizedConversionCastOp>();
             bytes && bytes.getNumOperands() == 1)
      memref = bytes.getOperand(0); // mx-store-as-bytes removes the cast
    else
      break;
  }
  if (auto argument = dyn_cast<BlockArgument>(memref)) {
    Block *block = argument.getOwner();
    auto function = dyn_cast<FunctionOpInterface>(block->getParentOp());
    bool isOfEntry = function && function.isPublic() && block->isEntryBlock();
    return isOfEntry ? memref : Value();
  }
  return memref.getDefiningOp<memref::AllocOp>() ||
                 memref.getDefiningOp<memref::GetGlobalOp>()
             ? memref
             : Value();
}

bool mx::mxgpu::mayBe(Value operand, Value array) {
  if (!isa<BaseMemRefType, TensorMapType>(operand.getType()))
    return false;
  Value touched = findArray(operand);
  return !touched || touched == array;
}

/// Returns true if a memref and its views are only read.
static bool isOnlyRead(Value memref) {
  return llvm::all_of(memref.getUsers(), [&](Operation *user) {
    if (isa<ViewLikeOpInterface>(user))
      return isOnlyRead(user->getResult(0));
    auto effects = dyn_cast<MemoryEffectOpInterface>(user);
    return effects && !effects.getEffectOnValue<MemoryEffects::Write>(memref) &&
           effects.getEffectOnValue<MemoryEffects::Read>(memref);
  });
}

bool mx::mxgpu::mayWrite(BlockArgument argument) {
  return isa<TensorMapType>(argument.getType()) || !isOnlyRead(argument);
}
