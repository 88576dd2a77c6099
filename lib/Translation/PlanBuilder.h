//===- PlanBuilder.h - Builder of launch plans ------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Translates a function of the mxplan dialect to a launch plan.
//===----------------------------------------------------------------------===//

#ifndef MX_LIB_TRANSLATION_PLANBUILDER_H
#define MX_LIB_TRANSLATION_PLANBUILDER_H

#include "PlanScalars.h"
#include "mx/Dialect/MXPlan/IR/MXPlan.h"

namespace mx {

/// Returns the index of the element called `name`, or the size of the list if
/// no element has this name.
template <typename T>
unsigned findNamed(const std::vector<T> &list, llvm::StringRef name) {
  return llvm::find_if(list, [&](const T &one) { return one.name == name; }) -
         list.begin();
}

class PlanBuilder {
public:
  PlanBuilder(mlir::func::FuncOp function, const plan::Manifest &manifest)
      : function(function), manifest(manifest), numbers(entry) {}

  /// Builds the plan. Reports operations that a plan cannot express.
  mlir::FailureOr<plan::Entry> build();

private:
  mlir::LogicalResult describeArguments();
  mlir::LogicalResult describeResults();
  /// Finds the allocations that become results.
  void findResults();

  static mlir::LogicalResult verifyOneBlock(mlir::Region &region);
  /// Translates a region with a single block.
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
  // Rank groups (PlanRankGroups.cpp).
  unsigned getGroup(llvm::StringRef name) const;
  mlir::LogicalResult translate(mxplan::RankOp op);
  mlir::LogicalResult translate(mxplan::PeersOp op);
  mlir::LogicalResult translate(mxplan::BarrierOp op);
  mlir::LogicalResult translate(mxplan::WindowOp op);
  mlir::LogicalResult translate(mxplan::AllGatherOp op);
  mlir::LogicalResult translate(mxplan::AllToAllOp op);
  mlir::LogicalResult translate(mxplan::WaitOp op);
  mlir::LogicalResult start(mlir::Operation *op, plan::Step &step);

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
  /// Returns the terminator's operands. Fails if a plan cannot represent one.
  mlir::FailureOr<std::vector<plan::Operand>>
  getYields(mlir::Region &region) const;
  /// Appends a region to the current block and maps `results` to its yields.
  mlir::LogicalResult inlineRegion(mlir::Region &region,
                                   mlir::ValueRange results);
  /// Translates a region to a block. `atStart` adds the block's first steps.
  mlir::FailureOr<plan::Block>
  translateRegion(mlir::Region &region,
                  llvm::function_ref<void()> atStart = {});
  /// Translates a loop body with the loop-carried `names`.
  mlir::FailureOr<plan::Block>
  translateRound(mlir::Region &region, llvm::ArrayRef<plan::Operand> names,
                 llvm::function_ref<void()> atStart = {});
  /// Returns names for values that a step defines.
  mlir::FailureOr<std::vector<plan::Operand>> define(mlir::Operation *op,
                                                     mlir::ValueRange values);
  plan::Buffer defineBuffer() { return {plan::Buffer::Chosen, chosenCount++}; }

  /// Returns the index by which callers pass an argument.
  unsigned argumentOf(mlir::BlockArgument value) const;
  plan::Operand getOperand(mlir::Value value) const;
  std::vector<plan::Operand> getOperands(mlir::ValueRange values) const;
  void set(mlir::Value value, const plan::Operand &operand);
  bool isKnown(mlir::Value value) const;
  std::vector<plan::Number> getNumbers(mlir::ValueRange values) const;
  /// Returns the bytes of a constant in memory order, empty for other values.
  static std::vector<uint8_t> getConstantBytes(mlir::Value value);
  /// Assigns offsets to all slices of the workspace (Workspace.cpp).
  void placeWorkBuffers();
  /// Removes unused values and renumbers the others (PlanPrune.cpp).
  void pruneValues();

  mlir::func::FuncOp function;
  const plan::Manifest &manifest;
  plan::Entry entry;
  PlanScalars numbers;
  llvm::DenseMap<mlir::Value, plan::Buffer> buffers;
  llvm::DenseMap<mlir::Value, unsigned> maps;
  /// Maps allocations to results.
  llvm::DenseMap<mlir::Operation *, unsigned> resultOf;
  /// Call stack of inlined functions.
  llvm::SmallVector<mlir::Operation *> calls;
  std::vector<plan::Buffer> carried;
  /// Conditions of enclosing branches. The second element is true in a branch
  /// that runs if the condition is not 0.
  std::vector<std::pair<plan::Number, bool>> branches;
  /// Tokens and groups of collectives that run beside later steps.
  llvm::DenseMap<mlir::Value, std::pair<unsigned, unsigned>> tokens;
  plan::RunningCollectives running;
  unsigned chosenCount = 0, mapCount = 0;
  std::vector<unsigned> tableMaps;
};

} // namespace mx

#endif // MX_LIB_TRANSLATION_PLANBUILDER_H
