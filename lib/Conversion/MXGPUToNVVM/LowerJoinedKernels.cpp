//===- LowerJoinedKernels.cpp - Lowering of joined kernels ----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Each path of the function runs one kernel, so setmaxnreg in a kernel does not
// affect the others, and all kernels use the same shared memory.
//===----------------------------------------------------------------------===//

#include "Common/Lowering.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;
using namespace mx::mxgpu;

namespace {
/// Part of a grid, in CTAs. The `count` of the last part is null.
struct Part {
  Value start, count;
};
} // namespace

/// Returns a function with the attributes and the parameters of `functions`.
/// The number of CTAs of each function but the last comes first.
static LLVM::LLVMFuncOp declare(NVVMBuilder &builder, KernelOp joined,
                                ArrayRef<LLVM::LLVMFuncOp> functions) {
  SmallVector<Type> types(functions.size() - 1, builder.getI64Type());
  SmallVector<Attribute> attributes(types.size(),
                                    builder.getDictionaryAttr({}));
  StringRef minCtas = NVVM::NVVMDialect::getMinctasmAttrName();
  IntegerAttr least = functions[0]->getAttrOfType<IntegerAttr>(minCtas);
  for (LLVM::LLVMFuncOp function : functions) {
    llvm::append_range(types, function.getArgumentTypes());
    for (unsigned i = 0; i < function.getNumArguments(); ++i)
      attributes.push_back(builder.getDictionaryAttr(
          mlir::function_interface_impl::getArgAttrs(function, i)));
    auto ctas = function->getAttrOfType<IntegerAttr>(minCtas);
    if (least && (!ctas || ctas.getInt() < least.getInt()))
      least = ctas;
  }
  auto function = cast<LLVM::LLVMFuncOp>(
      builder.insert(functions[0]->cloneWithoutRegions()));
  function->setLoc(joined.getLoc());
  function.setSymName(joined.getSymName());
  SymbolTable::setSymbolVisibility(function, SymbolTable::Visibility::Public);
  function.setFunctionType(LLVM::LLVMFunctionType::get(
      LLVM::LLVMVoidType::get(builder.getContext()), types));
  function.setArgAttrsAttr(builder.getArrayAttr(attributes));
  if (least)
    function->setAttr(minCtas, least);
  else
    function->removeAttr(minCtas);
  return function;
}

/// Replaces numbers of the grid in a copied kernel by numbers of its part.
static void restrict(Operation *op, Part part, int64_t clusterSize) {
  op->walk([&](Operation *inner) {
    bool isId = isa<NVVM::BlockIdXOp, NVVM::ClusterIdXOp>(inner);
    if (!isId && !isa<NVVM::GridDimXOp, NVVM::ClusterDimXOp>(inner))
      return;
    NVVMBuilder builder(inner->getLoc(), inner->getContext());
    builder.setInsertionPointAfter(inner);
    Value number = inner->getResult(0);
    bool ofClusters = isa<NVVM::ClusterIdXOp, NVVM::ClusterDimXOp>(inner);
    auto scale = [&](Value ctas) {
      return ofClusters && clusterSize > 1 ? builder.div(ctas, clusterSize)
                                           : ctas;
    };
    Value found;
    if (!isId && part.count)
      found = scale(part.count);
    else
      found = arith::SubIOp::create(builder, number, scale(part.start));
    number.replaceUsesWithIf(found, [&](OpOperand &use) {
      return use.getOwner() != found.getDefiningOp();
    });
  });
}

void mx::mxgpu::lowerJoined(KernelOp joined) {
  auto functions = llvm::map_to_vector(
      joined.getJoined()->getAsRange<FlatSymbolRefAttr>(), [&](auto name) {
        return SymbolTable::lookupNearestSymbolFrom<LLVM::LLVMFuncOp>(joined,
                                                                      name);
      });
  NVVMBuilder builder(joined.getLoc(), joined.getContext());
  builder.setInsertionPoint(joined);
  LLVM::LLVMFuncOp function = declare(builder, joined, functions);
  joined.erase();
  int64_t clusterSize = 1;
  if (auto dims = function->getAttrOfType<DenseI32ArrayAttr>(
          NVVM::NVVMDialect::getClusterDimAttrName()))
    clusterSize = dims[0];
  Block *entry = function.addEntryBlock(builder);
  builder.setInsertionPointToStart(entry);
  unsigned next = functions.size() - 1;
  Value cta = builder.ctaId(), start = builder.i32(0);
  for (auto [index, part] : llvm::enumerate(functions)) {
    IRMapping mapping;
    for (BlockArgument argument : part.getArguments())
      mapping.map(argument, function.getArgument(next++));
    Value count, end;
    OpBuilder::InsertPoint rest;
    if (index + 1 < functions.size()) {
      count = builder.toI32(function.getArgument(index));
      end = builder.add(start, count);
      auto ifOp = scf::IfOp::create(builder, builder.isBelow(cta, end),
                                    /*withElse=*/true);
      rest =
          OpBuilder::InsertPoint(ifOp.elseBlock(), ifOp.elseBlock()->begin());
      builder.setInsertionPointToStart(ifOp.thenBlock());
    }
    SmallVector<Operation *> copies;
    for (Operation &op : part.getBody().front().without_terminator())
      copies.push_back(builder.clone(op, mapping));
    for (Operation *copy : copies)
      restrict(copy, {start, count}, clusterSize);
    if (count)
      builder.restoreInsertionPoint(rest);
    start = end;
  }
  builder.setInsertionPointToEnd(entry);
  LLVM::ReturnOp::create(builder, ValueRange());
}
