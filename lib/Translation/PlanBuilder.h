//===- PlanBuilder.h - A function as a launch plan --------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Walks a function of the mxplan dialect and writes down what it does.
//
//===----------------------------------------------------------------------===//

#ifndef MX_LIB_TRANSLATION_PLANBUILDER_H
#define MX_LIB_TRANSLATION_PLANBUILDER_H

#include "PlanScalars.h"
#include "mx/Dialect/MXPlan/IR/MXPlan.h"

namespace mx {

/// The index of the element of that name, or the size of the list.
template <typename T>
unsigned findNamed(const std::vector<T> &list, llvm::StringRef name) {
  return llvm::find_if(list, [&](const T &one) { return one.name == name; }) -
         list.begin();
}

class PlanBuilder {
public:
  PlanBuilder(mlir::func::FuncOp function, const plan::Manifest &manifest)
      : function(function), manifest(manifest), numbers(entry) {}

  /// Fails with an error at what a plan cannot express.
  mlir::FailureOr<plan::Entry> build();

private:
  mlir::LogicalResult describeArguments();
  mlir::LogicalResult describeResults();
  /// Decides which allocations are results.
  void findResults();

  static mlir::LogicalResult verifyOneBlock(mlir::Region &region);
  /// The operations of a region of one block.
  mlir::LogicalResult translate(mlir::Region &region);
  mlir::LogicalResult translate(mlir::Operation *op);
  mlir::LogicalResult translate(mxplan::AllocOp op);
  mlir::LogicalResult translate(mxplan::ConstantOp op);
  mlir::LogicalResult translate(mxplan::AddressOp op);
  mlir::LogicalResult translate(mxplan::CopyOp op);
  mlir::LogicalResult translate(mxplan::FillOp op);
  mlir::LogicalResult translate(mxplan::ReadOp op);
  mlir::LogicalResult translate(mxplan::EncodeTensorMapOp op);
  mlir::LogicalResult translate(mxplan::LaunchOp op);
  mlir::LogicalResult translate(mxgpu::SmCountOp op);
  mlir::LogicalResult translate(mxgpu::RequireOp op);
  mlir::LogicalResult addParameter(mlir::Operation *op, mlir::Value value,
                                   std::vector<plan::Parameter> &parameters);
  // Groups (PlanRankGroups.cpp).
  unsigned getGroup(llvm::StringRef name) const;
  mlir::LogicalResult translate(mxplan::RankOp op);
  mlir::LogicalResult translate(mxplan::WindowOp op);
  mlir::LogicalResult translate(mxplan::AllGatherOp op);
  mlir::LogicalResult translate(mxplan::AllToAllOp op);

  // Control flow (PlanRegions.cpp).
  mlir::LogicalResult translate(mlir::scf::IfOp op);
  mlir::LogicalResult translate(mlir::scf::IndexSwitchOp op);
  mlir::LogicalResult translate(mlir::scf::ForOp op);
  mlir::LogicalResult translate(mlir::scf::WhileOp op);
  mlir::LogicalResult translate(mlir::scf::ExecuteRegionOp op);
  mlir::LogicalResult translate(mlir::func::CallOp op);
  mlir::LogicalResult translate(mlir::arith::SelectOp op);
  plan::Number getBytesIfRun(plan::Number bytes);
  std::optional<plan::Number> getConditionIfRun(plan::Number condition);
  /// The operands of the terminator; fails if a plan does not know one.
  mlir::FailureOr<std::vector<plan::Operand>>
  getYields(mlir::Region &region) const;
  /// Translates a region in place, with `results` for what it yields.
  mlir::LogicalResult inlineRegion(mlir::Region &region,
                                   mlir::ValueRange results);
  /// `atStart` adds what the block begins with.
  mlir::FailureOr<plan::Block>
  translateRegion(mlir::Region &region,
                  llvm::function_ref<void()> atStart = {});
  /// One of a loop, which carries `names` from round to round.
  mlir::FailureOr<plan::Block>
  translateRound(mlir::Region &region, llvm::ArrayRef<plan::Operand> names,
                 llvm::function_ref<void()> atStart = {});
  /// Names for values that a step defines.
  mlir::FailureOr<std::vector<plan::Operand>> define(mlir::Operation *op,
                                                     mlir::ValueRange values);
  plan::Buffer defineBuffer() { return {plan::Buffer::Chosen, chosenCount++}; }

  /// The argument of the entry, as callers count, that a number is.
  unsigned argumentOf(mlir::BlockArgument value) const;
  plan::Operand getOperand(mlir::Value value) const;
  std::vector<plan::Operand> getOperands(mlir::ValueRange values) const;
  void set(mlir::Value value, const plan::Operand &operand);
  bool isKnown(mlir::Value value) const;
  std::vector<plan::Number> getNumbers(mlir::ValueRange values) const;
  /// The bytes of a constant, as they lie in memory; empty for other values.
  static std::vector<uint8_t> getConstantBytes(mlir::Value value);
  /// Gives every slice of the workspace its place (Workspace.cpp).
  void placeWorkBuffers();
  /// Leaves out values that nothing needs and numbers the rest (PlanPrune.cpp).
  void pruneValues();

  mlir::func::FuncOp function;
  const plan::Manifest &manifest;
  plan::Entry entry;
  PlanScalars numbers;
  llvm::DenseMap<mlir::Value, plan::Buffer> buffers;
  llvm::DenseMap<mlir::Value, unsigned> maps;
  /// Which result an allocation is.
  llvm::DenseMap<mlir::Operation *, unsigned> resultOf;
  /// The functions that are being called.
  llvm::SmallVector<mlir::Operation *> calls;
  /// What the loops around carry.
  std::vector<plan::Buffer> carried;
  /// Of the branches around what is translated: what decides them, and whether
  /// they run where it is not 0.
  std::vector<std::pair<plan::Number, bool>> branches;
  unsigned chosenCount = 0, mapCount = 0;
  /// The tensor maps of the table.
  std::vector<unsigned> tableMaps;
};

} // namespace mx

#endif // MX_LIB_TRANSLATION_PLANBUILDER_H
