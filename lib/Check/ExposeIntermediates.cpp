//===- ExposeIntermediates.cpp - Exposed operands and results -------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"
#include "mlir/Transforms/RegionUtils.h"
#include "mx/Check/Intermediates.h"
#include "mx/Dialect/MX/IR/MX.h"
#include "mx/Dialect/Shared/ElementBits.h"
#include <cstring>

using namespace mlir;
using namespace mx;

/// Excludes quantizations that may be skipped.
static bool isCompared(Operation *op) {
  auto quantize = dyn_cast<FusedQuantizeOp>(op);
  if (quantize && !quantize.getIfAny().empty())
    return false;
  return op->getDialect() && isa<MXDialect>(op->getDialect()) &&
         isa<DestinationStyleOpInterface>(op);
}

static bool readsDestinations(Operation *op) {
  if (auto matmul = dyn_cast<MatmulOpInterface>(op))
    return matmul.readsOuts();
  if (auto gather = dyn_cast<AllGatherOp>(op))
    return !gather.getInput();
  return isa<CombineOp, GatherRowsOp>(op);
}

/// Returns true if the array of the slice is a box of its source's array.
static bool canCut(tensor::ExtractSliceOp slice) {
  RankedTensorType type = slice.getType();
  return type.getRank() == slice.getSourceType().getRank() &&
         slice.hasUnitStride() && !type.getEncoding() &&
         getElementBits(type) >= 8;
}

/// Returns true if an operation uses a slice that cannot be cut from a returned
/// array. Slices are not returned, because devices do not copy rows with gaps.
static bool readsOtherSlices(Operation *op) {
  llvm::SetVector<Value> used(op->operand_begin(), op->operand_end());
  getUsedValuesDefinedAbove(op->getRegions(), used);
  return llvm::any_of(used, [](Value value) {
    auto slice = value.getDefiningOp<tensor::ExtractSliceOp>();
    return slice &&
           (!canCut(slice) ||
            slice.getSource().getDefiningOp<tensor::ExtractSliceOp>() ||
            matchPattern(slice.getSource(), m_Constant()));
  });
}

namespace {
class Exposer {
public:
  Exposer(func::FuncOp entry, const std::map<unsigned, std::string> &without)
      : entry(entry), without(without) {
    terminator = entry.getBody().back().getTerminator();
    returned.assign(terminator->operand_begin(), terminator->operand_end());
  }

  IntermediateList run() {
    IntermediateList list;
    list.ownResults = entry.getNumResults();
    unsigned number = 0;
    entry.walk([&](Operation *op) {
      if (std::string why = whyHidden(op, number); !why.empty()) {
        list.hidden.push_back({op, why});
      } else if (isCompared(op)) {
        list.numbers.push_back(number);
        list.stages.push_back(expose(op));
      }
      number += isCompared(op);
    });
    if (list.stages.empty())
      return list;
    terminator->setOperands(returned);
    entry.setType(FunctionType::get(entry.getContext(),
                                    entry.getArgumentTypes(),
                                    terminator->getOperandTypes()));
    return list;
  }

private:
  /// Returns the reason why an mx operation is not compared in isolation.
  /// Returns "" for other operations.
  std::string whyHidden(Operation *op, unsigned number) {
    if (!isCompared(op))
      return {};
    if (op->getBlock() != terminator->getBlock() || op->getNumResults() == 0 ||
        !entry.getBody().hasOneBlock())
      return "it is not in the entry's own block";
    if (readsOtherSlices(op))
      return "an operand is a slice with strides or a layout";
    auto found = without.find(number);
    return found == without.end() ? std::string() : found->second;
  }

  ComparedOp expose(Operation *op) {
    ComparedOp stage;
    stage.op = op;
    auto structured = cast<DestinationStyleOpInterface>(op);
    for (OpOperand &operand : op->getOpOperands()) {
      bool isUnread = structured.isDpsInit(&operand) && !readsDestinations(op);
      stage.operands.push_back(isUnread ? IntermediateValue()
                                        : place(operand.get()));
    }
    llvm::SetVector<Value> captured;
    getUsedValuesDefinedAbove(op->getRegions(), captured);
    for (Value value : captured)
      stage.operands.push_back(place(value));
    for (Value value : op->getResults())
      stage.results.push_back(place(value));
    return stage;
  }

  IntermediateValue place(Value value) {
    if (auto argument = dyn_cast<BlockArgument>(value))
      return {IntermediateValue::Argument, argument.getArgNumber(), value};
    if (matchPattern(value, m_Constant()))
      return {IntermediateValue::Constant, 0, value};
    if (auto slice = value.getDefiningOp<tensor::ExtractSliceOp>()) {
      IntermediateValue placed = place(slice.getSource());
      placed.value = value;
      for (OpFoldResult offset : slice.getMixedOffsets())
        placed.offsets.push_back(place(offset));
      for (OpFoldResult size : slice.getMixedSizes())
        placed.sizes.push_back(place(size));
      return placed;
    }
    auto *found = llvm::find(returned, value);
    int64_t index = found - returned.begin();
    if (found == returned.end())
      returned.push_back(value);
    return {IntermediateValue::Result, index, value};
  }

  IntermediateValue place(OpFoldResult number) {
    if (std::optional<int64_t> known = getConstantIntValue(number))
      return {IntermediateValue::Number, *known};
    return place(cast<Value>(number));
  }

  func::FuncOp entry;
  const std::map<unsigned, std::string> &without;
  Operation *terminator;
  SmallVector<Value> returned;
};
} // namespace

FailureOr<IntermediateList>
mx::exposeIntermediates(func::FuncOp entry,
                        const std::map<unsigned, std::string> &without) {
  auto module = entry->getParentOfType<ModuleOp>();
  generalizeQuantizations(module);
  std::string name = entry.getSymName().str();
  // Inline calls, so the operations of callees are compared. The entry
  // must be public, because the inliner erases dead private functions.
  entry.setPublic();
  PassManager pm(module->getContext());
  pm.addPass(createInlinerPass());
  if (failed(pm.run(module)))
    return failure();
  auto inlined = cast<func::FuncOp>(module.lookupSymbol(name));
  IntermediateList list = Exposer(inlined, without).run();
  module.walk([&](Operation *op) {
    auto function = op->getParentOfType<func::FuncOp>();
    if (isCompared(op) && function && function != inlined &&
        !SymbolTable::symbolKnownUseEmpty(function, module))
      list.hidden.push_back({op, "it is in another function"});
  });
  return list;
}

static NpyArray cut(const NpyArray &whole, ArrayRef<int64_t> offsets,
                    ArrayRef<int64_t> sizes) {
  NpyArray box;
  box.dtype = whole.dtype;
  box.shape.assign(sizes.begin(), sizes.end());
  size_t item = npyItemSize(whole.dtype), rank = sizes.size();
  size_t rows = 1, row = sizes.back() * item;
  for (int64_t size : sizes.drop_back())
    rows *= size;
  box.data.resize(rows * row);
  for (size_t i = 0; i < rows; ++i) {
    // Offset of row i in the whole array.
    size_t place = offsets.back(), stride = whole.shape.back(), rest = i;
    for (size_t dim = rank - 1; dim-- > 0;) {
      place += (offsets[dim] + rest % sizes[dim]) * stride;
      rest /= sizes[dim];
      stride *= whole.shape[dim];
    }
    std::memcpy(box.data.data() + i * row, whole.data.data() + place * item,
                row);
  }
  return box;
}

IntermediateArrays mx::collectArrays(const ComparedOp &stage,
                                     ArrayRef<NpyArray> arguments,
                                     ArrayRef<NpyArray> results) {
  auto findWhole = [&](const IntermediateValue &value) -> const NpyArray * {
    if (value.kind == IntermediateValue::Argument)
      return &arguments[value.index];
    return value.kind == IntermediateValue::Result ? &results[value.index]
                                                   : nullptr;
  };
  auto getNumbers = [&](ArrayRef<IntermediateValue> values) {
    SmallVector<int64_t> numbers;
    for (const IntermediateValue &value : values) {
      int64_t &number = numbers.emplace_back(value.index);
      if (const NpyArray *array = findWhole(value))
        std::memcpy(&number, array->data.data(), sizeof(number));
    }
    return numbers;
  };
  IntermediateArrays arrays;
  auto find = [&](const IntermediateValue &value) -> const NpyArray * {
    const NpyArray *whole = findWhole(value);
    if (!whole || value.sizes.empty())
      return whole;
    arrays.slices.push_back(std::make_shared<NpyArray>(
        cut(*whole, getNumbers(value.offsets), getNumbers(value.sizes))));
    return arrays.slices.back().get();
  };
  for (const IntermediateValue &value : stage.operands)
    arrays.operands.push_back(find(value));
  for (const IntermediateValue &value : stage.results)
    arrays.results.push_back(find(value));
  return arrays;
}
