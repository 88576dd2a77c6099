//===- StridedRows.cpp - Matrices that are slices of wider ones -----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// The copy engine, and threads that load 16 bytes at a time, take rows that
// begin at multiples of some bytes and do not overlap (CUDA driver API,
// cuTensorMapEncodeTiled).
//
//===----------------------------------------------------------------------===//

#include "KernelBuilder.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mx/Support/ScaleLayout.h"

using namespace mlir;
using namespace mx;
using namespace mx::mxgpu;

bool mx::mxgpu::mayHaveStride(MemRefType type) {
  SmallVector<int64_t> strides;
  int64_t offset;
  return (type.getElementType().isIndex() ||
          type.getElementTypeBitWidth() >= 8) &&
         succeeded(type.getStridesAndOffset(strides, offset)) &&
         strides.back() == 1;
}

LogicalResult mx::mxgpu::verifyRowStride(Operation *op, MemRefType type,
                                         int64_t multiple, StringRef name) {
  auto [strides, offset] = type.getStridesAndOffset();
  int64_t stride = strides[0], length = type.getDimSize(1);
  int64_t least =
      ShapedType::isDynamic(length) ? multiple : roundUp(length, multiple);
  if (ShapedType::isDynamic(stride) ||
      (stride % multiple == 0 && stride >= least))
    return success();
  InFlightDiagnostic diag = op->emitOpError("expected rows of ")
                            << name << " at a stride of a multiple of "
                            << multiple << " elements, at least " << least
                            << ", on the GPU, found " << stride;
  int64_t below = stride / multiple * multiple;
  if (below < least)
    diag.attachNote() << "the nearest is " << least;
  else
    diag.attachNote() << "the nearest are " << below << " and "
                      << below + multiple;
  return diag;
}

Value mx::mxgpu::getAddress(KernelBuilder &host, Value memref) {
  Value address = memref::ExtractAlignedPointerAsIndexOp::create(host, memref);
  if (cast<MemRefType>(memref.getType()).getLayout().isIdentity())
    return address;
  memref = toBytes(host, memref);
  auto type = cast<MemRefType>(memref.getType());
  auto view = memref::ExtractStridedMetadataOp::create(host, memref);
  Value bytes = host.index(type.getElementTypeBitWidth() / 8);
  return host.add(address, host.mul(view.getOffset(), bytes));
}

void mx::mxgpu::requireRows(KernelBuilder &host, Value matrix, int64_t multiple,
                            int64_t alignment, const Twine &name) {
  auto type = cast<MemRefType>(matrix.getType());
  if (!isContiguous(type)) {
    auto view = memref::ExtractStridedMetadataOp::create(host, matrix);
    Value stride = view.getStrides()[0], length = host.dim(matrix, 1);
    host.requireMultiple(stride, multiple, "the stride of rows of " + name);
    Value fits =
        arith::CmpIOp::create(host, arith::CmpIPredicate::uge, stride, length);
    RequireOp::create(host, fits,
                      ("expected the stride of rows of " + name +
                       " to be at least their %lld elements, found %lld")
                          .str(),
                      ValueRange{length, stride});
  }
  host.requireMultiple(getAddress(host, matrix), alignment,
                       "the address of " + name);
}
