//===- HostChecks.cpp - Checks at run time --------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Passes that check assumptions of upstream's lowerings at run time, and end
// the program with a message if an assumption is false.
//===----------------------------------------------------------------------===//

#include "../Utils/HostCode.h"
#include "Emitter.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/Interfaces/RuntimeVerifiableOpInterface.h"
#include "mx/Conversion/MXToCPU/Passes.h"
#include "mx/Support/CallMessages.h"
#include "mx/Support/ExitStatus.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace mx;

namespace mx {
#define GEN_PASS_DEF_MXCHECKACCESSES
#define GEN_PASS_DEF_MXCHECKALLOCATIONS
#define GEN_PASS_DEF_MXCHECKLOOPS
#include "mx/Conversion/MXToCPU/Passes.h.inc"
} // namespace mx

//===----------------------------------------------------------------------===//
// Termination
//===----------------------------------------------------------------------===//

// A failed check prints a message and calls exit, because cf.assert would
// abort, dump core and not print the values. Every C library contains dprintf
// and exit, so an unmodified mlir-runner finds these functions.

static LLVM::LLVMFuncOp declare(OpBuilder &builder, ModuleOp module,
                                StringRef name, LLVM::LLVMFunctionType type) {
  if (auto function = module.lookupSymbol<LLVM::LLVMFuncOp>(name))
    return function;
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(module.getBody());
  return LLVM::LLVMFuncOp::create(builder, module.getLoc(), name, type);
}

void mx::createEndProgramUnless(OpBuilder &builder, Location loc,
                                ModuleOp module, Value condition,
                                const llvm::Twine &format, ValueRange values) {
  Type i32 = builder.getI32Type(), i64 = builder.getI64Type();
  Type pointer = LLVM::LLVMPointerType::get(builder.getContext());
  Type none = LLVM::LLVMVoidType::get(builder.getContext());
  auto print = declare(
      builder, module, "dprintf",
      LLVM::LLVMFunctionType::get(i32, {i32, pointer}, /*isVarArg=*/true));
  auto exit = declare(builder, module, "exit",
                      LLVM::LLVMFunctionType::get(none, {i32}));
  auto constant = [&](int32_t value) {
    return arith::ConstantOp::create(builder, loc,
                                     builder.getI32IntegerAttr(value));
  };
  auto text = [&](const llvm::Twine &bytes) {
    return getConstantText(builder, loc, module, "__mx_message_", bytes.str());
  };

  Value isWrong = arith::XOrIOp::create(
      builder, loc, condition,
      arith::ConstantOp::create(builder, loc, builder.getBoolAttr(true)));
  auto ifOp = scf::IfOp::create(builder, loc, isWrong,
                                /*withElseRegion=*/false);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(ifOp.thenBlock());
  constexpr int32_t kStandardError = 2;
  // Print the location with %s, because it may contain '%'.
  SmallVector<Value> arguments = {constant(kStandardError), text("%s" + format),
                                  text(getPlace(loc))};
  for (Value value : values) {
    if (value.getType() != i64)
      value = value.getType().isIndex()
                  ? Value(arith::IndexCastOp::create(builder, loc, i64, value))
                  : Value(arith::ExtUIOp::create(builder, loc, i64, value));
    arguments.push_back(value);
  }
  LLVM::CallOp::create(builder, loc, print, arguments);
  LLVM::CallOp::create(builder, loc, exit, ValueRange{constant(kExitBadInput)});
}

//===----------------------------------------------------------------------===//
// Accesses
//
// Indices, slices and sizes read from data may be out of bounds. The pass turns
// the cf.assert operations of upstream's RuntimeVerifiableOpInterface into
// checks that print a message and exit.
//===----------------------------------------------------------------------===//

namespace {

struct CheckAccessesPass final
    : mx::impl::MXCheckAccessesBase<CheckAccessesPass> {
  void runOnOperation() override {
    SmallVector<RuntimeVerifiableOpInterface> accesses;
    // `checkSizes` checks memref.expand_shape more strictly than upstream.
    getOperation().walk([&](RuntimeVerifiableOpInterface op) {
      if (!isa<memref::ExpandShapeOp>(op.getOperation()))
        accesses.push_back(op);
    });
    OpBuilder builder(&getContext());
    for (RuntimeVerifiableOpInterface op : accesses) {
      builder.setInsertionPoint(op);
      op.generateRuntimeVerification(builder, op.getLoc(), describeAccess);
    }
    SmallVector<memref::ExpandShapeOp> reshapes;
    getOperation().walk(
        [&](memref::ExpandShapeOp op) { reshapes.push_back(op); });
    llvm::for_each(reshapes, [&](auto op) { checkSizes(op); });
    SmallVector<cf::AssertOp> asserts;
    getOperation().walk([&](cf::AssertOp op) { asserts.push_back(op); });
    for (cf::AssertOp op : asserts)
      end(op);
    SmallVector<mxgpu::RequireOp> requirements;
    getOperation().walk(
        [&](mxgpu::RequireOp op) { requirements.push_back(op); });
    for (mxgpu::RequireOp op : requirements)
      end(op);
  }

  /// Checks the expanded sizes, which are operands.
  void checkSizes(memref::ExpandShapeOp op) {
    ImplicitLocOpBuilder builder(op.getLoc(), op);
    forEachDoubtfulExtent(
        builder, op.getLoc(), op.getResultType(), op.getOutputShape(),
        [&](Value size, Value isValid, const std::string &format) {
          createEndProgramUnless(builder, op.getLoc(), getOperation(), isValid,
                                 "error: " + format + "\n", size);
        });
    SmallVector<OpFoldResult> sizes = op.getMixedOutputShape();
    for (auto [dim, group] : llvm::enumerate(op.getReassociationIndices())) {
      bool isOpen = llvm::any_of(group, [&](int64_t inner) {
        return op.getResultType().isDynamicDim(inner);
      });
      if (group.size() == 1 || !isOpen)
        continue;
      Value elements = arith::ConstantIndexOp::create(builder, 1);
      for (int64_t inner : group)
        elements = builder.createOrFold<arith::MulIOp>(
            elements, getValueOrCreateConstantIndexOp(builder, op.getLoc(),
                                                      sizes[inner]));
      Value found = memref::DimOp::create(builder, op.getSrc(), dim);
      Value same = arith::CmpIOp::create(builder, arith::CmpIPredicate::eq,
                                         found, elements);
      createEndProgramUnless(builder, op.getLoc(), getOperation(), same,
                             "error: expected dimension " + Twine(dim) +
                                 " of the reshaped array to be %lld, found "
                                 "%lld\n",
                             {elements, found});
    }
  }

  /// Replaces an assertion by a check that exits. Assertions in the user's
  /// program are also replaced, because a signal must not terminate tools.
  void end(cf::AssertOp op) {
    OpBuilder builder(op);
    std::string text = op.getMsg().str();
    for (size_t at = 0; (at = text.find('%', at)) != std::string::npos; at += 2)
      text.insert(at, "%"); // escape for printf
    createEndProgramUnless(builder, op.getLoc(), getOperation(), op.getArg(),
                           "error: " + text + "\n", {});
    op.erase();
  }

  void end(mxgpu::RequireOp op) {
    OpBuilder builder(op);
    createEndProgramUnless(builder, op.getLoc(), getOperation(),
                           op.getCondition(),
                           "error: " + op.getMessage() + "\n", op.getValues());
    op.erase();
  }
};

} // namespace

//===----------------------------------------------------------------------===//
// Allocations
//
// The LLVM lowering of memref.alloc ignores size overflow and malloc failures,
// so a program with very large arrays would write to invalid addresses.
//===----------------------------------------------------------------------===//

namespace {

/// Returns text like "error: expected memory for an array of 3x%ldxf32, ...".
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

//===----------------------------------------------------------------------===//
// Loops
//
// scf assumes that loops count upwards. If a step read from data is 0
// or negative, the loop does not terminate.
//===----------------------------------------------------------------------===//

namespace {

bool isUnsigned(Operation *loop) {
  auto forOp = dyn_cast<scf::ForOp>(loop);
  return forOp && forOp.getUnsignedCmp();
}

/// Extends a step to 64 bits for messages.
Value widen(OpBuilder &builder, Location loc, Value step, bool isUnsigned) {
  Type i64 = builder.getI64Type();
  if (step.getType() == i64)
    return step;
  if (step.getType().isIndex())
    return arith::IndexCastOp::create(builder, loc, i64, step);
  if (step.getType().getIntOrFloatBitWidth() > 64)
    return arith::TruncIOp::create(builder, loc, i64, step);
  return isUnsigned ? Value(arith::ExtUIOp::create(builder, loc, i64, step))
                    : Value(arith::ExtSIOp::create(builder, loc, i64, step));
}

void requireUpwards(Operation *loop, Value step, ModuleOp module) {
  OpBuilder builder(loop);
  Location loc = loop->getLoc();
  Value zero = arith::ConstantOp::create(builder, loc,
                                         builder.getZeroAttr(step.getType()));
  Value isUpwards = arith::CmpIOp::create(
      builder, loc,
      isUnsigned(loop) ? arith::CmpIPredicate::ugt : arith::CmpIPredicate::sgt,
      step, zero);
  createEndProgramUnless(builder, loc, module, isUpwards,
                         "error: " + std::string(kLoopStepMessage) + "%ld\n",
                         widen(builder, loc, step, isUnsigned(loop)));
}

struct CheckLoopsPass final : mx::impl::MXCheckLoopsBase<CheckLoopsPass> {
  void runOnOperation() override {
    SmallVector<std::pair<Operation *, Value>> steps;
    getOperation().walk([&](LoopLikeOpInterface loop) {
      std::optional<SmallVector<OpFoldResult>> found = loop.getLoopSteps();
      if (!found)
        return;
      for (OpFoldResult step : *found) {
        std::optional<int64_t> known = getConstantIntValue(step);
        if (auto value = dyn_cast<Value>(step); value && !(known && *known > 0))
          steps.push_back({loop, value});
      }
    });
    for (auto [loop, step] : steps)
      requireUpwards(loop, step, getOperation());
  }
};

} // namespace
