//===- Driver.h - Subset of the CUDA driver API -----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// These declarations replace cuda.h, so the build does not require CUDA. Values
// match the driver's stable ABI.
//===----------------------------------------------------------------------===//

#ifndef MX_RUNTIME_LIB_CUDA_DRIVER_H
#define MX_RUNTIME_LIB_CUDA_DRIVER_H

#include "../Device.h"

namespace mx::runtime::cuda {

using CUresult = int;
using CUdevice = int;
using CUdeviceptr = uint64_t;
using CUcontext = struct CUctx_st *;
using CUmodule = struct CUmod_st *;
using CUfunction = struct CUfunc_st *;
using CUstream = void *;
using CUevent = void *;
struct CUipcMemHandle {
  char reserved[64];
};

enum : CUresult {
  CUDA_SUCCESS = 0,
  CUDA_ERROR_INVALID_VALUE = 1,
  CUDA_ERROR_OUT_OF_MEMORY = 2,
  CUDA_ERROR_DEINITIALIZED = 4,
  CUDA_ERROR_NO_DEVICE = 100,
  CUDA_ERROR_NO_BINARY_FOR_GPU = 209,
  CUDA_ERROR_INVALID_PTX = 218,
  CUDA_ERROR_UNSUPPORTED_PTX_VERSION = 222,
  CUDA_ERROR_NOT_FOUND = 500,
  CUDA_ERROR_ILLEGAL_ADDRESS = 700,
  CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES = 701,
  CUDA_ERROR_LAUNCH_TIMEOUT = 702,
  CUDA_ERROR_HARDWARE_STACK_ERROR = 714,
  CUDA_ERROR_LAUNCH_FAILED = 719,
  CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE = 720,
};

/// CU_STREAM_PER_THREAD of cuda.h, the largest handle that denotes a default
/// stream of the current context.
constexpr uintptr_t kStreamPerThread = 2;

enum : int {
  CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT = 16,
  CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR = 75,
  CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR = 76,
  CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN = 97,
  CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED = 115,

  CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES = 1,
  CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES = 8,
  CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH = 11,
  CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_HEIGHT = 12,
  CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_DEPTH = 13,
  CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED = 14,

  CU_JIT_ERROR_LOG_BUFFER = 5,
  CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES = 6,
  CU_JIT_OPTIMIZATION_LEVEL = 7,

  CU_POINTER_ATTRIBUTE_MEMORY_TYPE = 2,
  CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL = 9,
  CU_MEMORYTYPE_DEVICE = 2,

  CU_STREAM_NON_BLOCKING = 1,
  CU_STREAM_CAPTURE_STATUS_NONE = 0,
  CU_EVENT_DEFAULT = 0,
  CU_EVENT_DISABLE_TIMING = 2,
  CU_MEM_ATTACH_GLOBAL = 1,
  CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS = 1,

  CU_LAUNCH_ATTRIBUTE_COOPERATIVE = 2,
  CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION = 4,
  CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION = 6,
};

struct CUlaunchAttribute {
  int id;
  char pad[4];
  union {
    char bytes[64];
    int cooperative;
    unsigned clusterDim[3];
    int programmaticStreamSerializationAllowed;
  } value;
};
static_assert(sizeof(CUlaunchAttribute) == 72);

struct CUlaunchConfig {
  unsigned gridDim[3];
  unsigned blockDim[3];
  unsigned sharedMemBytes;
  CUstream hStream;
  CUlaunchAttribute *attrs;
  unsigned numAttrs;
};
static_assert(sizeof(CUlaunchConfig) == 56);

// X(member, exported name, parameter types)
#define MX_CUDA_REQUIRED_FUNCTIONS(X)                                          \
  X(init, cuInit, (unsigned))                                                  \
  X(driverGetVersion, cuDriverGetVersion, (int *))                             \
  X(getErrorName, cuGetErrorName, (CUresult, const char **))                   \
  X(getErrorString, cuGetErrorString, (CUresult, const char **))               \
  X(deviceGetCount, cuDeviceGetCount, (int *))                                 \
  X(deviceGet, cuDeviceGet, (CUdevice *, int))                                 \
  X(deviceGetName, cuDeviceGetName, (char *, int, CUdevice))                   \
  X(deviceGetAttribute, cuDeviceGetAttribute, (int *, int, CUdevice))          \
  X(deviceTotalMem, cuDeviceTotalMem_v2, (size_t *, CUdevice))                 \
  X(primaryCtxRetain, cuDevicePrimaryCtxRetain, (CUcontext *, CUdevice))       \
  X(ctxGetCurrent, cuCtxGetCurrent, (CUcontext *))                             \
  X(ctxPushCurrent, cuCtxPushCurrent_v2, (CUcontext))                          \
  X(ctxPopCurrent, cuCtxPopCurrent_v2, (CUcontext *))                          \
  X(ctxSynchronize, cuCtxSynchronize, ())                                      \
  X(moduleLoadDataEx, cuModuleLoadDataEx,                                      \
    (CUmodule *, const void *, unsigned, int *, void **))                      \
  X(moduleUnload, cuModuleUnload, (CUmodule))                                  \
  X(moduleGetFunction, cuModuleGetFunction,                                    \
    (CUfunction *, CUmodule, const char *))                                    \
  X(funcGetAttribute, cuFuncGetAttribute, (int *, int, CUfunction))            \
  X(funcSetAttribute, cuFuncSetAttribute, (CUfunction, int, int))              \
  X(launchKernelEx, cuLaunchKernelEx,                                          \
    (const CUlaunchConfig *, CUfunction, void **, void **))                    \
  X(memAlloc, cuMemAlloc_v2, (CUdeviceptr *, size_t))                          \
  X(memAllocManaged, cuMemAllocManaged, (CUdeviceptr *, size_t, unsigned))     \
  X(memFree, cuMemFree_v2, (CUdeviceptr))                                      \
  X(memAllocAsync, cuMemAllocAsync, (CUdeviceptr *, size_t, CUstream))         \
  X(memFreeAsync, cuMemFreeAsync, (CUdeviceptr, CUstream))                     \
  X(memcpyHtoD, cuMemcpyHtoD_v2, (CUdeviceptr, const void *, size_t))          \
  X(memcpyDtoH, cuMemcpyDtoH_v2, (void *, CUdeviceptr, size_t))                \
  X(memcpyHtoDAsync, cuMemcpyHtoDAsync_v2,                                     \
    (CUdeviceptr, const void *, size_t, CUstream))                             \
  X(memcpyDtoHAsync, cuMemcpyDtoHAsync_v2,                                     \
    (void *, CUdeviceptr, size_t, CUstream))                                   \
  X(memcpyDtoDAsync, cuMemcpyDtoDAsync_v2,                                     \
    (CUdeviceptr, CUdeviceptr, size_t, CUstream))                              \
  X(memcpyAsync, cuMemcpyAsync, (CUdeviceptr, CUdeviceptr, size_t, CUstream))  \
  X(pointerGetAttributes, cuPointerGetAttributes,                              \
    (unsigned, int *, void **, CUdeviceptr))                                   \
  X(memsetD8Async, cuMemsetD8Async,                                            \
    (CUdeviceptr, unsigned char, size_t, CUstream))                            \
  X(memsetD16Async, cuMemsetD16Async,                                          \
    (CUdeviceptr, unsigned short, size_t, CUstream))                           \
  X(memsetD32Async, cuMemsetD32Async,                                          \
    (CUdeviceptr, unsigned, size_t, CUstream))                                 \
  X(memHostRegister, cuMemHostRegister_v2, (void *, size_t, unsigned))         \
  X(memHostUnregister, cuMemHostUnregister, (void *))                          \
  X(streamCreateWithPriority, cuStreamCreateWithPriority,                      \
    (CUstream *, unsigned, int))                                               \
  X(streamDestroy, cuStreamDestroy_v2, (CUstream))                             \
  X(streamGetCtx, cuStreamGetCtx, (CUstream, CUcontext *))                     \
  X(streamSynchronize, cuStreamSynchronize, (CUstream))                        \
  X(streamWaitEvent, cuStreamWaitEvent, (CUstream, CUevent, unsigned))         \
  X(eventCreate, cuEventCreate, (CUevent *, unsigned))                         \
  X(eventDestroy, cuEventDestroy_v2, (CUevent))                                \
  X(eventSynchronize, cuEventSynchronize, (CUevent))                           \
  X(eventRecord, cuEventRecord, (CUevent, CUstream))                           \
  X(eventElapsedTime, cuEventElapsedTime, (float *, CUevent, CUevent))         \
  X(tensorMapEncodeTiled, cuTensorMapEncodeTiled,                              \
    (void *, int, unsigned, void *, const uint64_t *, const uint64_t *,        \
     const unsigned *, const unsigned *, int, int, int, int))

// Optional functions. cuFuncGetParamInfo requires CUDA 12.4, later than the
// oldest supported driver. Only PeerWindows requires the functions for IPC.
#define MX_CUDA_OPTIONAL_FUNCTIONS(X)                                          \
  X(funcGetParamInfo, cuFuncGetParamInfo,                                      \
    (CUfunction, size_t, size_t *, size_t *))                                  \
  X(streamIsCapturing, cuStreamIsCapturing, (CUstream, int *))                 \
  X(memGetAddressRange, cuMemGetAddressRange_v2,                               \
    (CUdeviceptr *, size_t *, CUdeviceptr))                                    \
  X(memHostGetDevicePointer, cuMemHostGetDevicePointer_v2,                     \
    (CUdeviceptr *, void *, unsigned))                                         \
  X(ipcGetMemHandle, cuIpcGetMemHandle, (CUipcMemHandle *, CUdeviceptr))       \
  X(ipcOpenMemHandle, cuIpcOpenMemHandle_v2,                                   \
    (CUdeviceptr *, CUipcMemHandle, unsigned))                                 \
  X(ipcCloseMemHandle, cuIpcCloseMemHandle, (CUdeviceptr))

struct Driver {
#define X(member, symbol, types) CUresult(*member) types = nullptr;
  MX_CUDA_REQUIRED_FUNCTIONS(X)
  MX_CUDA_OPTIONAL_FUNCTIONS(X)
#undef X

  /// Formats a result: "CUDA_ERROR_ILLEGAL_ADDRESS (an illegal memory access
  /// was encountered)".
  std::string describe(CUresult result) const;
  /// Converts the failure of `what` to an error with the matching status.
  Error error(const std::string &what, CUresult result) const;
};

/// Loads and initializes the driver on first use, and caches the outcome. The
/// environment variable MX_CUDA_DRIVER names another library.
Error getDriver(const Driver *&driver);

} // namespace mx::runtime::cuda

#endif // MX_RUNTIME_LIB_CUDA_DRIVER_H
