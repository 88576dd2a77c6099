//===- PlanProgram.cpp - Launch plans that run in process -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// What mx-compile writes to a directory is loaded from memory instead; the
// runtime executes it in the same way.
//
//===----------------------------------------------------------------------===//

#include "Programs.h"
#include "SaveTemps.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassManager.h"
#include "mx/Pipelines/Pipelines.h"
#include "mx/Plan/Plan.h"
#include "mx/Support/Memory.h"
#include "mx/Translation/ToManifest.h"
#include "mx/Translation/ToPTX.h"
#include "mx_program.h"
#include "llvm/ADT/ScopeExit.h"

using namespace mlir;
using namespace mx;

namespace {

struct Unload {
  void operator()(mxProgram program) const { (void)mxProgramUnload(program); }
};
using LoadedProgram = std::unique_ptr<mxProgramImpl, Unload>;

class PlanProgram final : public Program {
public:
  PlanProgram(LoadedProgram program, mxEntry entry)
      : program(std::move(program)), entry(entry) {}

private:
  llvm::Expected<std::vector<NpyArray>>
  call(ArrayRef<const NpyArray *> inputs) override;

  LoadedProgram program;
  mxEntry entry;
};

/// The device memory of one call.
class DeviceMemory {
public:
  ~DeviceMemory() {
    for (void *memory : owned)
      (void)mxMemFree(memory);
  }
  /// Null where the device has none left.
  void *allocate(size_t bytes) {
    void *memory = nullptr;
    if (mxMemAlloc(&memory, bytes) == MX_SUCCESS)
      owned.push_back(memory);
    return memory;
  }
  void adopt(void *memory) { owned.push_back(memory); }

private:
  SmallVector<void *> owned;
};

/// Writes down the plan before the kernels are lowered: what a launch must know
/// of them is theirs until then.
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

llvm::Expected<std::vector<NpyArray>>
PlanProgram::call(ArrayRef<const NpyArray *> inputs) {
  DeviceMemory memory;
  std::vector<mxArgument> values;
  for (auto [type, input] : llvm::zip_equal(arguments, inputs)) {
    void *data = const_cast<uint8_t *>(input->data.data());
    if (!type.isScalar) {
      size_t bytes = input->data.size();
      data = memory.allocate(bytes);
      if (mxGetLastStatus() != MX_SUCCESS ||
          mxMemcpyToDevice(data, input->data.data(), bytes, nullptr) !=
              MX_SUCCESS)
        return takeRuntimeError();
    }
    values.push_back({sizeof(mxArgument), data, input->shape.data()});
  }
  int32_t count = values.size();
  // Bytes of a result, and host memory for them.
  auto resize = [&](size_t index, NpyArray &array) -> llvm::Error {
    size_t bytes = results[index].itemBytes();
    for (int64_t extent : array.shape)
      bytes *= extent;
    if (tryResize(array.data, bytes))
      return llvm::Error::success();
    return makeError("result " + llvm::Twine(index) + ": no memory for the " +
                     llvm::Twine(bytes) + " bytes of " + npyTypeString(array));
  };
  std::vector<NpyArray> arrays(results.size());
  std::vector<mxTakenMemory> taken(results.size(), mxSized<mxTakenMemory>());
  std::vector<void *> places;
  for (auto [index, type] : llvm::enumerate(results)) {
    NpyArray &array = arrays[index];
    array.dtype = type.dtype;
    array.shape.resize(type.shape.size() + 1); // room, also for no dimension
    mxValueInfo info = mxSized<mxValueInfo>();
    if (mxEntryGetResult(entry, index, &info) != MX_SUCCESS)
      return takeRuntimeError();
    if (info.isTaken) {
      taken[index].shape = array.shape.data();
      places.push_back(&taken[index]);
      continue;
    }
    if (mxEntryGetResultShape(entry, values.data(), count, index,
                              array.shape.data()) != MX_SUCCESS)
      return takeRuntimeError();
    array.shape.pop_back();
    if (llvm::Error error = resize(index, array))
      return error;
    places.push_back(type.isScalar ? array.data.data()
                                   : memory.allocate(array.data.size()));
  }
  size_t workspaceBytes = 0;
  if (mxEntryGetWorkspaceBytes(entry, values.data(), count, &workspaceBytes) !=
      MX_SUCCESS)
    return takeRuntimeError();
  void *workspace = workspaceBytes ? memory.allocate(workspaceBytes) : nullptr;
  if (mxGetLastStatus() != MX_SUCCESS ||
      mxEntryLaunch(entry, values.data(), count, places.data(), places.size(),
                    workspace, workspaceBytes, nullptr) != MX_SUCCESS ||
      mxSynchronize() != MX_SUCCESS)
    return takeRuntimeError();
  for (auto [index, type] : llvm::enumerate(results)) {
    NpyArray &array = arrays[index];
    if (taken[index].shape) {
      memory.adopt(taken[index].data);
      places[index] = taken[index].data;
      array.shape.pop_back();
      if (llvm::Error error = resize(index, array))
        return error;
    }
    if (!type.isScalar &&
        mxMemcpyToHost(array.data.data(), places[index], array.data.size(),
                       nullptr) != MX_SUCCESS)
      return takeRuntimeError();
  }
  return arrays;
}

/// Lowers `module` to its host part and its kernels.
static LogicalResult lower(ModuleOp module, const CompileOptions &options,
                           HostPart &host, std::string &ptx) {
  MXToNVVMOptions nvvm;
  nvvm.chip = options.chip;
  nvvm.explain = options.explain;
  nvvm.maxSchedules = options.maxSchedules;
  nvvm.tuned = options.tuned;
  nvvm.tunedGpu = options.tunedGpu;
  nvvm.fuse = options.fuse;
  nvvm.skipHostCode = false; // Program::compile has left none
  PassManager pm(module->getContext());
  if (!options.saveTemps.empty())
    pm.addInstrumentation(createSaveTempsInstrumentation(options.saveTemps));
  buildMXToPlanPipeline(pm, nvvm);
  pm.addPass(std::make_unique<BuildManifestPass>(host));
  buildMXGPUToNVVMPipeline(pm);
  if (failed(pm.run(module)))
    return failure();
  if (host.manifest.kernels.empty())
    return success();
  llvm::raw_string_ostream stream(ptx);
  return translateToPTX(module, stream);
}

llvm::Expected<std::unique_ptr<Program>>
mx::compileForDevice(ModuleOp module, func::FuncOp entry,
                     const CompileOptions &options) {
  std::string symbol = entry.getSymName().str();
  for (auto function : module.getOps<func::FuncOp>())
    if (function != entry)
      function.setPrivate();
  HostPart host;
  plan::Manifest &manifest = host.manifest;
  std::string ptx;
  if (failed(lower(module, options, host, ptx)))
    return makeError("cannot compile '" + symbol + "' for " +
                     stringifyDeviceKind(options.device));
  if (manifest.target.empty())
    manifest.target = options.chip;
  if (!options.saveTemps.empty()) {
    if (!ptx.empty())
      if (llvm::Error error = saveText(options.saveTemps, kManifestPtx, ptx))
        return error;
    if (!host.data.empty())
      if (llvm::Error error =
              saveText(options.saveTemps, kManifestData, host.data))
        return error;
    if (llvm::Error error = saveText(options.saveTemps, "manifest.json",
                                     plan::writeManifest(manifest)))
      return error;
  }
  std::string text = plan::writeManifest(manifest);
  mxProgram loaded = nullptr;
  mxProgramParts parts = {sizeof(mxProgramParts),
                          text.data(),
                          text.size(),
                          ptx.data(),
                          ptx.size(),
                          host.data.data(),
                          host.data.size(),
                          kManifestPtx};
  if (mxProgramLoadParts(&loaded, &parts) != MX_SUCCESS)
    return takeRuntimeError();
  LoadedProgram program(loaded);
  mxEntry handle = nullptr;
  if (mxProgramGetEntry(&handle, loaded, symbol.c_str()) != MX_SUCCESS)
    return takeRuntimeError();
  return std::make_unique<PlanProgram>(std::move(program), handle);
}
