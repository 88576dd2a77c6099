//===- ThreadRows.cpp - Rows that an epilogue's threads have --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// See the header.
//
//===----------------------------------------------------------------------===//

#include "ThreadRows.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace mx;
using namespace mx::mxgpu;

Value mx::mxgpu::getRowOfThread(KernelBuilder &body) {
  return ThreadIdOp::create(body);
}

Value mx::mxgpu::getFirstRowOfWarp(KernelBuilder &body) {
  Value warp = body.div(ThreadIdOp::create(body), target::kWarpSize);
  return body.mul(warp, body.index(kStagedRows));
}

ScaleWordPlace mx::mxgpu::getScaleWordOfThread(KernelBuilder &body) {
  Value row = getRowOfThread(body);
  Value inQuarter = arith::RemUIOp::create(body, row, body.index(32));
  return {inQuarter, body.div(row, 32)};
}
