//===- ToManifest.cpp - Translation of host code to manifests -------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A manifest lists kernels with launch parameters, and a plan for each entry.
//===----------------------------------------------------------------------===//

#include "mx/Translation/ToManifest.h"
#include "PlanBuilder.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Tools/mlir-translate/Translation.h"
#include "mx/Dialect/MX/IR/ConstantBytes.h"
#include "mx/Dialect/MX/IR/MX.h"
#include "mx/Dialect/MXGPU/IR/MemoryLayout.h"
#include "mx/Translation/ToPTX.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace mx;

static FailureOr<plan::Kernel> describeKernel(Operation *op) {
  auto kernelOp = dyn_cast<mxgpu::KernelOp>(op);
  if (!kernelOp)
    return op->emitOpError("cannot be translated to a manifest: run mx-opt "
                           "--mx-to-plan first");
  plan::Kernel kernel;
  kernel.name = kernelOp.getSymName();
  kernel.block[0] = kernelOp.getNumThreads();
  kernel.dynamicSharedMemory = mxgpu::getSharedBytes(kernelOp);
  kernel.programmatic = kernelOp.waitsForDependencies();
  if (mxgpu::ScheduleAttr schedule = kernelOp.getScheduleAttr())
    llvm::raw_string_ostream(kernel.schedule) << schedule;
  return kernel;
}

/// Adds each constant that plans use once.
static void addConstants(ModuleOp module, plan::Manifest &manifest,
                         std::string &data) {
  llvm::SmallSetVector<StringRef, 8> names;
  module.walk([&](mxplan::ConstantOp op) { names.insert(op.getGlobal()); });
  for (StringRef name : names) {
    data.resize(llvm::alignTo(data.size(), plan::kWorkspaceAlignment));
    plan::Constant &constant = manifest.constants.emplace_back();
    constant.name = name;
    constant.offset = data.size();
    auto global = module.lookupSymbol<memref::GlobalOp>(name);
    appendConstantBytes(cast<ElementsAttr>(global.getInitialValueAttr()), data);
    constant.bytes = int64_t(data.size()) - constant.offset;
  }
  if (!names.empty())
    manifest.data = kManifestData;
}

/// Adds the rank groups used by plans, except groups with a single rank.
static void addRankGroups(ModuleOp module, plan::Manifest &manifest) {
  llvm::SmallPtrSet<Attribute, 4> used;
  module.walk([&](Operation *op) {
    if (isa<mxplan::RankOp, mxplan::PeersOp, mxplan::BarrierOp,
            mxplan::WindowOp, mxplan::AllGatherOp, mxplan::AllToAllOp>(op))
      used.insert(op->getAttrOfType<FlatSymbolRefAttr>("group").getAttr());
  });
  for (auto group : module.getOps<RankGroupOp>())
    if (used.contains(group.getSymNameAttr()))
      manifest.groups.push_back({group.getSymName().str(),
                                 int64_t(group.getSize()),
                                 int64_t(group.getTokens())});
}

FailureOr<HostPart> mx::buildHostPart(ModuleOp module) {
  HostPart host;
  plan::Manifest &manifest = host.manifest;
  for (auto kernels : module.getOps<gpu::GPUModuleOp>()) {
    ArrayAttr targets = kernels.getTargetsAttr();
    auto target = targets && targets.size() == 1
                      ? dyn_cast<NVVM::NVVMTargetAttr>(targets[0])
                      : NVVM::NVVMTargetAttr();
    if (!target ||
        (!manifest.target.empty() && manifest.target != target.getChip()))
      return kernels.emitOpError("expected the same single #nvvm.target in "
                                 "all kernel modules");
    manifest.target = target.getChip();
    for (Operation &op : *kernels.getBody()) {
      // Other operations use no private kernel.
      if (auto kernel = dyn_cast<mxgpu::KernelOp>(op);
          kernel && kernel.isPrivate())
        continue;
      FailureOr<plan::Kernel> kernel = describeKernel(&op);
      if (failed(kernel))
        return failure();
      manifest.kernels.push_back(std::move(*kernel));
    }
  }
  if (!manifest.kernels.empty())
    manifest.ptx = kManifestPtx;
  addConstants(module, manifest, host.data);
  addRankGroups(module, manifest);
  for (auto function : module.getOps<func::FuncOp>()) {
    if (!function.isPublic() || function.isExternal())
      continue;
    FailureOr<plan::Entry> entry = PlanBuilder(function, manifest).build();
    if (failed(entry))
      return failure();
    manifest.entries.push_back(std::move(*entry));
  }
  return host;
}

LogicalResult mx::refuseMissingBody(func::FuncOp function) {
  return function.emitError("expected a body of '")
         << function.getSymName()
         << "', found a declaration: a program must define the functions "
            "that it calls";
}

void mx::eraseHostPart(ModuleOp module) {
  for (Operation &op : llvm::make_early_inc_range(*module.getBody()))
    if (isa<func::FuncOp, memref::GlobalOp, RankGroupOp>(op))
      op.erase();
}

/// Registers a translation that prints a part of the host code.
static void registerOfHostPart(StringRef name, StringRef summary,
                               void (*print)(const HostPart &, raw_ostream &)) {
  TranslateFromMLIRRegistration registration(
      name, summary,
      [print](Operation *op, raw_ostream &os) -> LogicalResult {
        auto module = dyn_cast<ModuleOp>(op);
        if (!module)
          return op->emitOpError("expected builtin.module");
        FailureOr<HostPart> host = buildHostPart(module);
        if (failed(host))
          return failure();
        print(*host, os);
        return success();
      },
      [](DialectRegistry &registry) {
        registerPTXDialects(registry);
        // Register the dialects of allocated kernels and plans.
        registry.insert<vector::VectorDialect>();
      });
}

void mx::registerToManifestTranslation() {
  registerOfHostPart("mx-to-manifest",
                     "print the launch plans of a module as a manifest",
                     [](const HostPart &host, raw_ostream &os) {
                       os << plan::writeManifest(host.manifest);
                     });
  registerOfHostPart(
      "mx-to-constants",
      "write the constants file that the manifest of a module names",
      [](const HostPart &host, raw_ostream &os) { os << host.data; });
}
