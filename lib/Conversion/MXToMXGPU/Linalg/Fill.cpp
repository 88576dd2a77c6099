//===- Fill.cpp - Fills of device memory ----------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The runtime and launch plans support only fills with zero bytes.
//===----------------------------------------------------------------------===//

#include "../../Utils/Storage.h"
#include "../Conversions.h"
#include "Linalg.h"

using namespace mlir;
using namespace mx;
using namespace mx::mxgpu;

/// Returns true if no byte is shared with elements of another memref.
static bool ownsItsBytes(MemRefType type) {
  bool isNarrow = getElementBits(type) < 8;
  return type.getLayout().isIdentity() && !type.getElementType().isInteger(1) &&
         (!isNarrow || type.getRank() == 2);
}

bool mx::mxgpu::isMemset(linalg::FillOp op) {
  auto type = dyn_cast<MemRefType>(op.getDpsInits()[0].getType());
  return type && isZeroBits(op.getInputs()[0]) && ownsItsBytes(type);
}

LogicalResult mx::mxgpu::convertFill(linalg::FillOp op) {
  auto type = cast<MemRefType>(op.getDpsInits()[0].getType());
  if (!isZeroBits(op.getInputs()[0]))
    return op.emitOpError("expected a constant whose bits are all 0 on the "
                          "GPU, which fills memory with zeros; found another "
                          "value: make the tensor an argument of the function, "
                          "or add the value where it is used");
  if (!ownsItsBytes(type))
    return op.emitOpError("expected a contiguous tensor of elements of at "
                          "least 8 bits, or a contiguous matrix of narrower "
                          "floats, on the GPU, found ")
           << type;
  KernelBuilder host(op.getLoc(), op);
  clearMemory(host, toBytes(host, op.getDpsInits()[0]));
  op.erase();
  return success();
}
