//===- CheckAllocations.cpp - Memory that there is not --------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// The LLVM lowering of memref.alloc multiplies extents without a look at
// overflow and uses what malloc returns without a look at null: a program whose
// arrays are too large would write anywhere.
//
//===----------------------------------------------------------------------===//

#include "../Utils/ByteCounts.h"
#include "EndProgram.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mx/Conversion/MXToCPU/Passes.h"

namespace mx {
#define GEN_PASS_DEF_MXCHECKALLOCATIONS
#include "mx/Conversion/MXToCPU/Passes.h.inc"
} // namespace mx

using namespace mlir;
using namespace mx;

namespace {

/// "error: expected memory for an array of 3x%ldxf32, ..." for the extents.
std::string describe(MemRefType type) {
  std::string text;
  llvm::raw_string_ostream os(text);
  os << "error: expected memory for an array of ";
  for (int64_t extent : type.getShape())
    if (ShapedType::isDynamic(extent))
      os << "%ldx";
    else
      os << extent << 'x';
  os << type.getElementType() << ", found less\n";
  return text;
}

LogicalResult check(memref::AllocOp op, ModuleOp module) {
  MemRefType type = op.getType();
  if (failed(verifyByteCount(op, type)))
    return failure();
  OpBuilder builder(op);
  Location loc = op.getLoc();
  auto require = [&](Value condition) {
    createEndProgramUnless(builder, loc, module, condition, describe(type),
                           op.getDynamicSizes());
  };
  forEachDoubtfulExtent(
      builder, loc, type, op.getDynamicSizes(),
      [&](Value size, Value isValid, const std::string &format) {
        createEndProgramUnless(builder, loc, module, isValid,
                               "error: " + format + "\n", size);
      });
  if (!type.hasStaticShape())
    require(createFitsAddressSpace(builder, loc, type, op.getDynamicSizes()));
  builder.setInsertionPointAfter(op);
  Value address =
      memref::ExtractAlignedPointerAsIndexOp::create(builder, loc, op);
  Value zero = arith::ConstantIndexOp::create(builder, loc, 0);
  require(arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ne, address,
                                zero));
  return success();
}

struct CheckAllocationsPass final
    : mx::impl::MXCheckAllocationsBase<CheckAllocationsPass> {
  void runOnOperation() override {
    SmallVector<memref::AllocOp> allocations;
    getOperation().walk([&](memref::AllocOp op) { allocations.push_back(op); });
    for (memref::AllocOp op : allocations)
      if (failed(check(op, getOperation())))
        return signalPassFailure();
  }
};

} // namespace
