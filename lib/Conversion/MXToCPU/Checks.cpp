//===- Checks.cpp - Sizes and offsets compared at run time ----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Verifiers see static sizes; the rest is compared here, before the first
// access. A failure prints one line with the operation's location and both
// values and ends the program with exit(1): cf.assert would abort, dump core
// and hide the values. dprintf and exit are in every C library, so that stock
// mlir-runner finds them.
//
//===----------------------------------------------------------------------===//

#include "../Utils/HostMessages.h"
#include "Emitter.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mx/Support/ScaleLayout.h"

using namespace mlir;
using namespace mx;
using namespace mx::cpu;

/// A constant with the text, made at most once.
Value Emitter::getMessage(llvm::Twine text) {
  return getConstantText(builder, loc, module, "__mx_message_", text.str());
}

/// The declaration of a C function.
static LLVM::LLVMFuncOp declare(OpBuilder &builder, ModuleOp module,
                                StringRef name, LLVM::LLVMFunctionType type) {
  if (auto function = module.lookupSymbol<LLVM::LLVMFuncOp>(name))
    return function;
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(module.getBody());
  return LLVM::LLVMFuncOp::create(builder, module.getLoc(), name, type);
}

void Emitter::check(Int condition, llvm::Twine text, ArrayRef<Int> values) {
  if (std::optional<int64_t> known = getConstantIntValue(Value(condition));
      known && *known)
    return;
  Type i32 = builder.getI32Type(), i64 = builder.getI64Type();
  Type pointer = LLVM::LLVMPointerType::get(builder.getContext());
  Type none = LLVM::LLVMVoidType::get(builder.getContext());
  auto print = declare(
      builder, module, "dprintf",
      LLVM::LLVMFunctionType::get(i32, {i32, pointer}, /*isVarArg=*/true));
  auto exit = declare(builder, module, "exit",
                      LLVM::LLVMFunctionType::get(none, {i32}));

  auto ifOp = scf::IfOp::create(builder, loc, condition ^ 1,
                                /*withElseRegion=*/false);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(ifOp.thenBlock());
  // The place goes in as an argument: it may contain a '%'.
  SmallVector<Value> arguments = {
      Int::constant(builder, loc, i32, 2), // the standard error stream
      getMessage("%serror: " + op->getName().getStringRef() + ": expected " +
                 text + "\n"),
      getMessage(getPlace(loc))};
  for (Int value : values)
    arguments.push_back(value.to(i64));
  LLVM::CallOp::create(builder, loc, print, arguments);
  LLVM::CallOp::create(builder, loc, exit,
                       ValueRange{Int::constant(builder, loc, i32, 1)});
}

void Emitter::checkDim(StringRef name, const Elements &array, int64_t dimension,
                       Int expected) {
  Int found = dim(array, dimension);
  check(found == expected,
        "dimension " + llvm::Twine(dimension) + " of " + name +
            " to be %ld, found %ld",
        {expected, found});
}

void Emitter::checkScales(StringRef name, const Scales &scales,
                          const Elements &like, Int rows, Int columns,
                          int64_t blockSize, std::optional<Int> groups) {
  Elements array{scales.memref, builder.getI8Type()};
  int64_t batch = cast<MemRefType>(like.memref.getType()).getRank() - 2;
  for (int64_t i = 0; i < batch; ++i)
    checkDim(name, array, i, dim(like, i));
  Int blocks = columns / blockSize;
  if (scales.tiled) {
    Int tileRows =
        groups ? rows / kScaleTileRows + *groups : rows.ceilDiv(kScaleTileRows);
    checkDim(name, array, batch, tileRows);
    checkDim(name, array, batch + 1, blocks.ceilDiv(kScaleTileBlocks));
    checkDim(name, array, batch + 2, index(32));
    checkDim(name, array, batch + 3, index(4));
    checkDim(name, array, batch + 4, index(4));
    return;
  }
  checkDim(name, array, batch, rows);
  checkDim(name, array, batch + 1, blocks);
}

void Emitter::checkColumns(StringRef name, Int columns, int64_t blockSize) {
  Int rest = columns % blockSize, below = columns - rest;
  check(rest == 0,
        name + " to be a multiple of " + llvm::Twine(blockSize) +
            ", found %ld; the nearest are %ld and %ld",
        {columns, below, below + blockSize});
}

void Emitter::checkOffsets(Value offsets, Int total) {
  Int zero = index(0), groups = dim(offsets, 0);
  reduce(zero, groups, zero, [&](Int g, Int previous) {
    Int end = wrap(arith::IndexCastOp::create(
        builder, loc, builder.getIndexType(), load(offsets, {g})));
    Int isAscending = end >= previous, isWithin = end <= total;
    check(isAscending & isWithin, "offsets[%ld] between %ld and %ld, found %ld",
          {g, previous, total, end});
    return end;
  });
}
