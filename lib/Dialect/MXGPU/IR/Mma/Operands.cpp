//===- Operands.cpp - Tiles in shared memory as operands ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// An instruction reads 32 bytes of each row. Rows are as long as the swizzle;
// those of a longer tile are split into panels, one after the other.
//
//===----------------------------------------------------------------------===//

#include "Operands.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mx/Dialect/MXGPU/IR/TensorMaps.h"

using namespace mlir;
using namespace mx;
using namespace mx::mxgpu;

int64_t mx::mxgpu::getOperandRows(BufferType buffer) {
  return buffer.getShape()[buffer.getShape().size() - 2];
}

static int64_t getPanels(BufferType buffer) {
  return buffer.getShape().size() == 3 ? buffer.getShape()[0] : 1;
}

int64_t mx::mxgpu::getOperandReduction(BufferType buffer) {
  return getPanels(buffer) * buffer.getShape().back();
}

static int64_t getRowBytes(BufferType buffer) {
  return buffer.getSizeInBytes() / getOperandRows(buffer) / getPanels(buffer);
}

LogicalResult mx::mxgpu::verifyOperandRows(MmaOp op, BufferType buffer) {
  if (buffer.getSwizzle() != mxgpu::Swizzle::None &&
      getRowBytes(buffer) == static_cast<int64_t>(buffer.getSwizzle()))
    return success();
  // mma C8
  return op.emitOpError("expected rows of operands to be as long as their "
                        "swizzle, found ")
         << buffer;
}

DescribedOperand::DescribedOperand(
    NVVMBuilder &builder, BufferType buffer, Value view,
    uint64_t (*encode)(const target::SmemDescriptor &))
    : descriptor(builder.matrixDescriptor(
          encode(target::kMajorDescriptor(toSwizzle(buffer.getSwizzle()))),
          view)),
      rowBytes(getRowBytes(buffer)),
      stepsPerPanel(rowBytes / target::kMmaKBytes),
      panelBytes(buffer.getSizeInBytes() / getPanels(buffer)) {}

void DescribedOperand::addRows(NVVMBuilder &builder, Value rows) {
  Value workTiles =
      builder.mul(rows, builder.i32(rowBytes / target::kDescriptorUnit));
  descriptor = builder.add(
      descriptor,
      arith::ExtUIOp::create(builder, builder.getI64Type(), workTiles));
}

Value DescribedOperand::at(NVVMBuilder &builder, int64_t step,
                           int64_t row) const {
  int64_t bytes = step / stepsPerPanel * panelBytes + row * rowBytes;
  int64_t workTiles = bytes / target::kDescriptorUnit +
                      step % stepsPerPanel * target::kDescriptorKStep;
  return workTiles ? builder.add(descriptor, builder.i64(workTiles))
                   : descriptor;
}
