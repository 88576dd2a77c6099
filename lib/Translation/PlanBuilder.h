//===- PlanBuilder.h - The host part of a function as a plan ----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Walks a function whose kernels are allocated mxgpu.kernels and whose memrefs
// are device memory, and writes down what it does.
//
//===----------------------------------------------------------------------===//

#ifndef MX_LIB_TRANSLATION_PLANBUILDER_H
#define MX_LIB_TRANSLATION_PLANBUILDER_H

#include "PlanNumbers.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mx/Dialect/MXGPU/IR/MXGPU.h"

namespace mx {

class PlanBuilder {
public:
  PlanBuilder(mlir::func::FuncOp function, const plan::Manifest &manifest)
      : function(function), manifest(manifest), numbers(entry) {}

  /// Fails with an error at what a plan cannot express.
  mlir::FailureOr<plan::Entry> build();

private:
  /// A memref: whose memory it is, and how large it is. Of a part of an array
  /// also where it begins and its strides, in elements.
  struct View {
    plan::Buffer buffer;
    std::vector<plan::Number> sizes;
    bool isPart = false;
    plan::Number offset;
    std::vector<plan::Number> strides;

    bool isWhole() const { return !isPart; }
  };

  mlir::LogicalResult describeArguments();
  mlir::LogicalResult describeResults(mlir::func::ReturnOp returnOp);
  /// Decides which allocations are results.
  void findResults();
  mlir::LogicalResult translate(mlir::Operation *op);
  mlir::LogicalResult translateAlloc(mlir::memref::AllocOp op);
  mlir::LogicalResult translateDim(mlir::memref::DimOp op);
  mlir::LogicalResult translateShape(mlir::Operation *op);
  mlir::LogicalResult translateCast(mlir::memref::CastOp op);
  mlir::LogicalResult translateSubView(mlir::memref::SubViewOp op);
  mlir::LogicalResult
  translateMetadata(mlir::memref::ExtractStridedMetadataOp op);
  void translateAddress(mlir::memref::ExtractAlignedPointerAsIndexOp op);
  mlir::LogicalResult translateCopy(mlir::memref::CopyOp op);
  mlir::LogicalResult translateMemset(mlir::Operation *op);
  mlir::LogicalResult translateMap(mxgpu::EncodeTensorMapOp op);
  mlir::LogicalResult translateRequire(mxgpu::RequireOp op);
  mlir::LogicalResult translateLaunch(mxgpu::LaunchOp op);
  mlir::LogicalResult addParameters(mlir::Operation *op, mlir::Value value,
                                    std::vector<plan::Parameter> &parameters);
  /// Adds `memref`, which shows `buffer`.
  void setView(mlir::Value memref, plan::Buffer buffer,
               std::vector<plan::Number> sizes) {
    View view;
    view.buffer = buffer;
    view.sizes = std::move(sizes);
    views[memref] = std::move(view);
  }
  std::vector<plan::Number>
  getNumbers(llvm::ArrayRef<mlir::OpFoldResult> values);
  std::vector<plan::Number> getStrides(const View &view);
  /// The bytes of a constant, as they lie in memory; empty for other values.
  static std::vector<uint8_t> getConstantBytes(mlir::Value value);
  plan::Number getBytes(mlir::MemRefType type,
                        llvm::ArrayRef<plan::Number> sizes);
  /// Gives every part of the workspace its place (Workspace.cpp).
  void placeWorkBuffers();
  /// Leaves out values that nothing needs (PlanPrune.cpp).
  void pruneValues();

  mlir::func::FuncOp function;
  const plan::Manifest &manifest;
  plan::Entry entry;
  PlanNumbers numbers;
  llvm::DenseMap<mlir::Value, View> views;
  llvm::DenseMap<mlir::Value, unsigned> maps;
  /// Which result an allocation is.
  llvm::DenseMap<mlir::Operation *, unsigned> resultOf;
};

} // namespace mx

#endif // MX_LIB_TRANSLATION_PLANBUILDER_H
