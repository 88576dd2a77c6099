//===- Driver.cpp - Loader of the CUDA driver -----------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Machines without a driver are common, so errors name the missing part.
//===----------------------------------------------------------------------===//

#include "Driver.h"

#include <cstdlib>
#include <dlfcn.h>

using namespace mx::runtime;
using namespace mx::runtime::cuda;

std::string Driver::describe(CUresult result) const {
  const char *name = nullptr, *text = nullptr;
  if (getErrorName(result, &name) != CUDA_SUCCESS || !name)
    return "CUDA error " + std::to_string(result);
  if (getErrorString(result, &text) != CUDA_SUCCESS || !text)
    return name;
  return std::string(name) + " (" + text + ")";
}

Error Driver::error(const std::string &what, CUresult result) const {
  static const struct {
    CUresult result;
    mxStatus status;
  } statuses[] = {
      {CUDA_ERROR_INVALID_VALUE, MX_ERROR_INVALID_VALUE},
      {CUDA_ERROR_OUT_OF_MEMORY, MX_ERROR_OUT_OF_MEMORY},
      {CUDA_ERROR_NO_DEVICE, MX_ERROR_NO_DEVICE},
      {CUDA_ERROR_NO_BINARY_FOR_GPU, MX_ERROR_WRONG_TARGET},
      {CUDA_ERROR_INVALID_PTX, MX_ERROR_BAD_MODULE},
      {CUDA_ERROR_UNSUPPORTED_PTX_VERSION, MX_ERROR_BAD_MODULE},
      {CUDA_ERROR_NOT_FOUND, MX_ERROR_NOT_FOUND},
      {CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES, MX_ERROR_BAD_LAUNCH},
      {CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE, MX_ERROR_BAD_LAUNCH},
  };
  mxStatus status = MX_ERROR_DRIVER;
  for (const auto &entry : statuses)
    if (entry.result == result)
      status = entry.status;
  // Errors of kernels leave the context unusable.
  if (result == CUDA_ERROR_ILLEGAL_ADDRESS ||
      result == CUDA_ERROR_LAUNCH_TIMEOUT ||
      (result >= CUDA_ERROR_HARDWARE_STACK_ERROR &&
       result <= CUDA_ERROR_LAUNCH_FAILED))
    status = MX_ERROR_KERNEL;
  return {status, what + " failed: " + describe(result)};
}

static Error loadDriver(Driver &driver) {
  const char *path = getenv("MX_CUDA_DRIVER");
  if (!path || !*path)
    path = "libcuda.so.1";
  void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    const char *reason = dlerror();
    return {MX_ERROR_NO_DEVICE, std::string("no CUDA driver: cannot load ") +
                                    path + ": " +
                                    (reason ? reason : "unknown reason")};
  }
  std::string missing;
#define X(member, symbol, types)                                               \
  driver.member =                                                              \
      reinterpret_cast<CUresult(*) types>(dlsym(library, #symbol));            \
  if (!driver.member && missing.empty())                                       \
    missing = #symbol;
  MX_CUDA_REQUIRED_FUNCTIONS(X)
#undef X
#define X(member, symbol, types)                                               \
  driver.member = reinterpret_cast<CUresult(*) types>(dlsym(library, #symbol));
  MX_CUDA_OPTIONAL_FUNCTIONS(X)
#undef X

  // Launch attributes and tensor maps need CUDA 12.0.
  int version = 0;
  if (driver.driverGetVersion)
    driver.driverGetVersion(&version);
  std::string found = std::to_string(version / 1000) + "." +
                      std::to_string(version % 1000 / 10);
  if (version > 0 && version < 12000)
    return {MX_ERROR_NO_DEVICE,
            "the CUDA driver is too old: expected CUDA 12.0 or later, found " +
                found};
  if (!missing.empty())
    return {MX_ERROR_NO_DEVICE, std::string("the CUDA driver ") + path +
                                    " (CUDA " + found + ") has no " + missing};
  if (CUresult result = driver.init(0))
    return {MX_ERROR_NO_DEVICE,
            "the CUDA driver cannot be used: " + driver.describe(result)};
  return {};
}

Error mx::runtime::cuda::getDriver(const Driver *&driver) {
  struct Loaded {
    Driver driver;
    Error error;
    Loaded() : error(loadDriver(driver)) {}
  };
  static Loaded *loaded = new Loaded;
  driver = &loaded->driver;
  return loaded->error;
}
