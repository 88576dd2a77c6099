//===- CudaLaunch.cpp - Modules, launches and tensor maps of a GPU --------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "CudaDevice.h"

#include <cstring>

using namespace mx::runtime;
using namespace mx::runtime::cuda;

//===----------------------------------------------------------------------===//
// Modules
//===----------------------------------------------------------------------===//

CudaFunction::~CudaFunction() { device.forget(*this); }

CudaModule::~CudaModule() {
  (void)device.release("unloading a module",
                       [&]() { return device.driver.moduleUnload(module); });
}

Error CudaDevice::load(Image &image, int optLevel,
                       std::unique_ptr<Module> &module) {
  std::string gpu = std::string(deviceInfo.name) + " (sm_" +
                    std::to_string(deviceInfo.capabilityMajor) +
                    std::to_string(deviceInfo.capabilityMinor) + ")";
  if (image.kind == Image::Ptx && !canRun(image.target))
    return {MX_ERROR_WRONG_TARGET, image.name + ": expected a module for " +
                                       gpu + ", found one for " + image.target};
  // Only the assembler's log describes the error.
  std::string log(16 << 10, '\0');
  int options[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES,
                   CU_JIT_OPTIMIZATION_LEVEL};
  void *values[] = {log.data(), reinterpret_cast<void *>(log.size()),
                    reinterpret_cast<void *>(uintptr_t(optLevel))};
  unsigned count = optLevel < 0 || optLevel > 4 ? 2 : 3;
  CUmodule loaded = nullptr;
  CUresult result = CUDA_SUCCESS;
  Error error = run(image.name + ": loading it on " + gpu, [&]() {
    return result = driver.moduleLoadDataEx(&loaded, image.bytes.c_str(), count,
                                            options, values);
  });
  if (error) {
    if (result == CUDA_ERROR_UNSUPPORTED_PTX_VERSION)
      error.text += ": expected a driver that reads this PTX (CUDA 12.9 or "
                    "later for PTX from mx): update the driver, or assemble "
                    "the kernels with ptxas first (docs/guide/Run.md)";
    log.resize(strnlen(log.c_str(), log.size()));
    while (!log.empty() && strchr(" \n", log.back()))
      log.pop_back();
    if (!log.empty())
      error.text += "\n" + log;
    if (error.status == MX_ERROR_DRIVER)
      error.status = MX_ERROR_BAD_MODULE;
    return error;
  }
  module = std::make_unique<CudaModule>(*this, loaded, image.name);
  return {};
}

Error CudaModule::getFunction(const char *kernel,
                              std::unique_ptr<Function> &result) {
  const Driver &driver = device.driver;
  auto function = std::make_unique<CudaFunction>(device);
  function->name = kernel;
  Error error = device.run("", [&]() {
    return driver.moduleGetFunction(&function->function, module, kernel);
  });
  if (error.status == MX_ERROR_NOT_FOUND)
    return {MX_ERROR_NOT_FOUND, name + ": there is no kernel '" + kernel + "'"};
  if (error)
    return {error.status,
            name + ": finding kernel '" + kernel + "'" + error.text};
  error = device.run(
      "reading the attributes of kernel '" + function->name + "'", [&]() {
        auto get = [&](int attribute, int &value) {
          return driver.funcGetAttribute(&value, attribute, function->function);
        };
        int width = 0, height = 0, depth = 0;
        CUresult result =
            get(CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, function->staticShared);
        if (!result)
          result = get(CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH, width);
        if (!result)
          result = get(CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_HEIGHT, height);
        if (!result)
          result = get(CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_DEPTH, depth);
        auto atLeastOne = [](int n) { return n < 1 ? 1 : n; };
        function->requiredCluster =
            atLeastOne(width) * atLeastOne(height) * atLeastOne(depth);
        if (!result && driver.funcGetParamInfo) {
          size_t offset, size;
          function->parameterCount = 0;
          while (driver.funcGetParamInfo(function->function,
                                         function->parameterCount, &offset,
                                         &size) == CUDA_SUCCESS)
            ++function->parameterCount;
        }
        return result;
      });
  if (error)
    return error;
  result = std::move(function);
  return {};
}

//===----------------------------------------------------------------------===//
// Launches
//===----------------------------------------------------------------------===//

/// Raises the kernel's limits. More than 48 KiB of dynamic shared memory and
/// clusters of more than 8 blocks must be enabled once for each kernel (CUDA
/// programming guide, clusters and shared memory of compute capability 9.0).
Error CudaDevice::raiseLimits(CudaFunction &function, const Launch &launch) {
  uint32_t cluster = launch.cluster[0] ? launch.cluster[0] * launch.cluster[1] *
                                             launch.cluster[2]
                                       : function.requiredCluster;
  // Limits only rise, so most launches need no lock.
  if (launch.dynamicSharedMemory <= function.dynamicShared &&
      (cluster <= 8 || function.nonPortable))
    return {};
  std::lock_guard<std::mutex> lock(function.mutex);
  if (launch.dynamicSharedMemory > function.dynamicShared) {
    Error error =
        run("asking for " + std::to_string(launch.dynamicSharedMemory) +
                " bytes of dynamic shared memory for kernel '" + function.name +
                "'",
            [&]() {
              return driver.funcSetAttribute(
                  function.function,
                  CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                  int(launch.dynamicSharedMemory));
            });
    if (error)
      return error;
    function.dynamicShared = launch.dynamicSharedMemory;
  }
  if (cluster > 8 && !function.nonPortable) {
    Error error =
        run("allowing clusters of " + std::to_string(cluster) +
                " blocks for kernel '" + function.name + "'",
            [&]() {
              return driver.funcSetAttribute(
                  function.function,
                  CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED, 1);
            });
    if (error)
      return error;
    function.nonPortable = true;
  }
  return {};
}

Error CudaDevice::launch(Function &base, const Launch &launch,
                         void **parameters, int64_t count) {
  auto &function = static_cast<CudaFunction &>(base);
  auto kernel = [&] { return "kernel '" + function.name + "'"; };
  if (count >= 0 && function.parameterCount >= 0 &&
      count != function.parameterCount)
    return {MX_ERROR_BAD_LAUNCH,
            kernel() + ": expected " + std::to_string(function.parameterCount) +
                " parameters, found " + std::to_string(count)};
  int64_t shared = int64_t(launch.dynamicSharedMemory) + function.staticShared;
  if (shared > deviceInfo.sharedMemoryPerBlock)
    return {MX_ERROR_BAD_LAUNCH,
            kernel() + ": expected at most " +
                std::to_string(deviceInfo.sharedMemoryPerBlock) +
                " bytes of shared memory, found " + std::to_string(shared) +
                " (" + std::to_string(function.staticShared) + " static)"};
  if (Error error = raiseLimits(function, launch)) {
    error.status = MX_ERROR_BAD_LAUNCH;
    return error;
  }

  CUlaunchAttribute attributes[3] = {};
  CUlaunchConfig config = {};
  memcpy(config.gridDim, launch.grid, sizeof(config.gridDim));
  memcpy(config.blockDim, launch.block, sizeof(config.blockDim));
  config.sharedMemBytes = launch.dynamicSharedMemory;
  config.hStream = launch.stream;
  config.attrs = attributes;
  if (launch.cluster[0]) {
    CUlaunchAttribute &attribute = attributes[config.numAttrs++];
    attribute.id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION;
    memcpy(attribute.value.clusterDim, launch.cluster, sizeof(launch.cluster));
  }
  if (launch.programmatic) {
    CUlaunchAttribute &attribute = attributes[config.numAttrs++];
    attribute.id = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION;
    attribute.value.programmaticStreamSerializationAllowed = 1;
  }
  if (launch.cooperative) {
    CUlaunchAttribute &attribute = attributes[config.numAttrs++];
    attribute.id = CU_LAUNCH_ATTRIBUTE_COOPERATIVE;
    attribute.value.cooperative = 1;
  }
  // Write only on change, because launching threads share the cache line.
  if (lastKernel != &function)
    lastKernel = &function;
  auto shape = [](const uint32_t *v) {
    return std::to_string(v[0]) + "x" + std::to_string(v[1]) + "x" +
           std::to_string(v[2]);
  };
  Error error = run([&] { return "launching " + kernel(); },
                    [&]() {
                      return driver.launchKernelEx(&config, function.function,
                                                   parameters, nullptr);
                    });
  if (!error)
    return error;
  error.text +=
      "; grid " + shape(launch.grid) + ", block " + shape(launch.block);
  if (launch.cluster[0])
    error.text += ", cluster " + shape(launch.cluster);
  error.text += ", " + std::to_string(launch.dynamicSharedMemory) +
                " bytes of dynamic shared memory";
  if (error.status != MX_ERROR_KERNEL)
    error.status = MX_ERROR_BAD_LAUNCH;
  return error;
}

//===----------------------------------------------------------------------===//
// Tensor maps
//===----------------------------------------------------------------------===//

namespace {

/// Cached tensor map of a device. `desc` lists all inputs of the driver call.
struct EncodedMap {
  const CudaDevice *device;
  mx::target::TensorMapDesc desc;
  std::array<uint8_t, mx::target::kTensorMapBytes> bytes;
};

/// Returns the cache slot for a description. Each thread caches recent maps,
/// because loops repeat maps and encoding takes longer than the rest of a
/// launch.
EncodedMap &findEncoded(const mx::target::TensorMapDesc &desc) {
  static thread_local std::array<EncodedMap, 64> encoded = {};
  uint64_t hash = desc.globalAddress;
  for (unsigned i = 0; i < desc.rank; ++i)
    hash = hash * 31 + desc.dims[i] * 7 + desc.box[i];
  return encoded[(hash ^ (hash >> 12) ^ (hash >> 24)) % encoded.size()];
}

} // namespace

Error CudaDevice::encodeTensorMap(void *map,
                                  const mx::target::TensorMapDesc &desc) {
  EncodedMap &known = findEncoded(desc);
  if (known.device == this && known.desc == desc) {
    memcpy(map, known.bytes.data(), known.bytes.size());
    return {};
  }
  Error error = run("encoding a tensor map", [&]() {
    return driver.tensorMapEncodeTiled(
        map, int(desc.type), desc.rank,
        reinterpret_cast<void *>(desc.globalAddress), desc.dims.data(),
        desc.strides.data(), desc.box.data(), desc.elementStrides.data(),
        int(desc.interleave), int(desc.swizzle), int(desc.l2), int(desc.fill));
  });
  // The driver reports only "invalid value".
  if (error.status == MX_ERROR_INVALID_VALUE)
    if (std::string rule = mx::target::check(desc); !rule.empty())
      error.text = "tensor map: " + rule;
  if (!error) {
    known.device = this;
    known.desc = desc;
    memcpy(known.bytes.data(), map, known.bytes.size());
  }
  return error;
}
