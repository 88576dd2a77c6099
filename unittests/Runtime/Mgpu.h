//===- Mgpu.h - Functions called by gpu-to-llvm -----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Declared as LLVM 22 calls the functions (GPUToLLVMConversion, the embedding
// of gpu.binary, and NVGPUToNVVM), not as the runtime defines them.
//===----------------------------------------------------------------------===//

#ifndef MX_UNITTESTS_RUNTIME_MGPU_H
#define MX_UNITTESTS_RUNTIME_MGPU_H

#include <cstddef>
#include <cstdint>

extern "C" {
void *mgpuModuleLoad(void *data, size_t bytes);
void *mgpuModuleLoadJIT(void *data, int optLevel);
void mgpuModuleUnload(void *module);
void *mgpuModuleGetFunction(void *module, const char *name);
void mgpuLaunchKernel(void *function, intptr_t gridX, intptr_t gridY,
                      intptr_t gridZ, intptr_t blockX, intptr_t blockY,
                      intptr_t blockZ, int32_t sharedMemory, void *stream,
                      void **parameters, void **extra, size_t count);
void mgpuLaunchClusterKernel(void *function, intptr_t clusterX,
                             intptr_t clusterY, intptr_t clusterZ,
                             intptr_t gridX, intptr_t gridY, intptr_t gridZ,
                             intptr_t blockX, intptr_t blockY, intptr_t blockZ,
                             int32_t sharedMemory, void *stream,
                             void **parameters, void **extra);
void *mgpuStreamCreate();
void mgpuStreamDestroy(void *stream);
void mgpuStreamSynchronize(void *stream);
void mgpuStreamWaitEvent(void *stream, void *event);
void *mgpuEventCreate();
void mgpuEventDestroy(void *event);
void mgpuEventSynchronize(void *event);
void mgpuEventRecord(void *event, void *stream);
void *mgpuMemAlloc(uint64_t bytes, void *stream, bool hostShared);
void mgpuMemFree(void *memory, void *stream);
void mgpuMemcpy(void *to, void *from, size_t bytes, void *stream);
void mgpuMemset32(void *to, unsigned value, size_t count, void *stream);
void mgpuMemset16(void *to, unsigned short value, size_t count, void *stream);
void mgpuMemHostRegister(void *memory, uint64_t bytes);
void mgpuMemHostUnregister(void *memory);
void mgpuMemHostRegisterMemRef(int64_t rank, void *memref,
                               int64_t elementBytes);
void mgpuMemHostUnregisterMemRef(int64_t rank, void *memref,
                                 int64_t elementBytes);
void mgpuSetDefaultDevice(int32_t ordinal);
void mgpuTensorMapEncodeTiled(void *map, int32_t dataType, uint32_t rank,
                              void *globalAddress, const uint64_t *dims,
                              const uint64_t *strides, const uint32_t *box,
                              const uint32_t *elementStrides,
                              int32_t interleave, int32_t swizzle,
                              int32_t l2Promotion, int32_t oobFill);
void *mgpuTensorMapEncodeTiledMemref(int64_t rank, void *memref,
                                     int64_t dataType, int64_t interleave,
                                     int64_t swizzle, int64_t l2Promotion,
                                     int64_t oobFill, int64_t *boxDims);
}

#endif // MX_UNITTESTS_RUNTIME_MGPU_H
