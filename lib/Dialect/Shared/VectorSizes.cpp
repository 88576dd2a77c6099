//===- VectorSizes.cpp - Limits of vector sizes ---------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "mx/Dialect/Shared/VectorSizes.h"
#include "mlir/IR/Diagnostics.h"

using namespace mlir;

bool mx::hasMoreElements(VectorType type, int64_t most) {
  // Divides instead of multiplying to avoid overflow.
  for (int64_t size : type.getShape()) {
    if (size > most)
      return true;
    most /= std::max<int64_t>(size, 1);
  }
  return false;
}

LogicalResult mx::verifyVectorSize(Operation *op, Type type, int64_t most) {
  auto vector = dyn_cast<VectorType>(type);
  if (!vector || !hasMoreElements(vector, most))
    return success();
  return op->emitOpError("expected vectors of at most ")
         << most << " elements, found " << type;
}

LogicalResult mx::verifyVectorSizes(Operation *root, int64_t most) {
  WalkResult result = root->walk([&](Operation *op) {
    auto isVerified = [&](Type type) {
      return succeeded(verifyVectorSize(op, type, most));
    };
    bool areVerified = llvm::all_of(op->getResultTypes(), isVerified);
    for (Region &region : op->getRegions())
      for (Block &block : region)
        areVerified =
            areVerified && llvm::all_of(block.getArgumentTypes(), isVerified);
    return areVerified ? WalkResult::advance() : WalkResult::interrupt();
  });
  return failure(result.wasInterrupted());
}
