//===- DeviceCode.cpp - Compilation of modules for a GPU ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "mx/Execution/DeviceCode.h"
#include "Programs.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Pass/Pass.h"
#include "mx/Pipelines/Pipelines.h"
#include "mx/Translation/ToPTX.h"

using namespace mlir;
using namespace mx;

namespace {

/// Builds the manifest before kernels are lowered, because launches depend on
/// the attributes of mxgpu.kernel.
class BuildManifestPass final
    : public PassWrapper<BuildManifestPass, OperationPass<ModuleOp>> {
public:
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(BuildManifestPass)
  explicit BuildManifestPass(HostPart &host) : host(host) {}
  StringRef getArgument() const override { return "mx-build-manifest"; }

  void runOnOperation() override {
    FailureOr<HostPart> built = buildHostPart(getOperation());
    if (failed(built))
      return signalPassFailure();
    host = std::move(*built);
    eraseHostPart(getOperation());
  }

private:
  HostPart &host;
};

} // namespace

void mx::setPipelineOptions(MXToNVVMOptions &pipeline,
                            const DeviceOptions &options) {
  pipeline.chip = options.chip;
  pipeline.explain = options.explain;
  pipeline.fuse = options.fuse;
  pipeline.maxSchedules = options.maxSchedules;
  pipeline.peerStores = options.peerStores;
  pipeline.tuned = options.tuned;
  pipeline.tunedGpu = options.tunedGpu;
  pipeline.skipHostCode = false;
}

FailureOr<DeviceCode> mx::compileDeviceCode(ModuleOp module,
                                            const DeviceOptions &options,
                                            const std::string &saveTemps) {
  MXToNVVMOptions pipeline;
  setPipelineOptions(pipeline, options);
  DeviceCode code;
  PassManager pm(module->getContext());
  if (!saveTemps.empty())
    pm.addInstrumentation(createSaveTempsInstrumentation(saveTemps));
  buildMXToPlanPipeline(pm, pipeline);
  pm.addPass(std::make_unique<BuildManifestPass>(code));
  buildMXGPUToNVVMPipeline(pm);
  if (failed(pm.run(module)))
    return failure();
  if (code.manifest.target.empty())
    code.manifest.target = options.chip;
  llvm::raw_string_ostream stream(code.ptx);
  if (!code.manifest.kernels.empty() && failed(translateToPTX(module, stream)))
    return failure();
  return code;
}
