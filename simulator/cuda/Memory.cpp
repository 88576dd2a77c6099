//===- Memory.cpp - Allocations, host memory and pools --------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Device memory has no host address, as on a GPU. Pinned and managed memory is
// host memory that all devices share.
//===----------------------------------------------------------------------===//

#include "Session.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

using namespace mx::sim;
using namespace mx::sim::cuda;

Device *mx::sim::cuda::deviceOf(uint64_t address) {
  Session &session = Session::get();
  uint64_t index = (address - DeviceMemory::kBase) / DeviceMemory::kBytes;
  return index < session.devices.size() ? session.devices[index].get() : nullptr;
}

std::pair<const uint64_t, Block> *mx::sim::cuda::findBlock(uint64_t address) {
  std::map<uint64_t, Block> &blocks = Session::get().blocks;
  auto next = blocks.upper_bound(address);
  if (next == blocks.begin())
    return nullptr;
  --next;
  return address - next->first < std::max<size_t>(next->second.bytes, 1) ? &*next : nullptr;
}

/// Maps host memory into all devices.
static bool mapHost(void *host, size_t bytes) {
  for (std::unique_ptr<Device> &device : Session::get().devices)
    if (!device->memory.mapHost(host, bytes))
      return false;
  return true;
}

Status mx::sim::cuda::allocate(size_t bytes, Block::Kind kind, unsigned flags, uint64_t &address) {
  Session &session = Session::get();
  if (kind == Block::Device) {
    DeviceMemory &memory = session.device().memory;
    address = memory.alloc(bytes);
    if (!address)
      return fail(CUDA_ERROR_OUT_OF_MEMORY, "expected at most " +
                                                std::to_string(memory.bytesCapacity() - memory.bytesInUse()) +
                                                " free bytes, found " + std::to_string(bytes));
    if (session.devices.size() > 1)
      memory.share(address);
  } else {
    constexpr size_t kPage = 4096;
    if (bytes > session.device().memory.bytesCapacity())
      return fail(CUDA_ERROR_OUT_OF_MEMORY, "expected less memory, found " + std::to_string(bytes) + " bytes");
    void *host = std::aligned_alloc(kPage, (std::max<size_t>(bytes, 1) + kPage - 1) / kPage * kPage);
    if (!host)
      return CUDA_ERROR_OUT_OF_MEMORY;
    if (!mapHost(host, bytes)) {
      std::free(host);
      return CUDA_ERROR_OUT_OF_MEMORY;
    }
    address = uint64_t(host);
    session.device().memory.fillPoison(address, bytes);
  }
  session.blocks[address] = {kind, bytes, session.current(), flags};
  return CUDA_SUCCESS;
}

Status mx::sim::cuda::release(uint64_t address) {
  Session &session = Session::get();
  if (!address)
    return CUDA_SUCCESS;
  auto block = session.blocks.find(address);
  if (block == session.blocks.end() || block->second.kind == Block::Registered)
    return invalid("expected the start of an allocation, found " + session.device().memory.describe(address, 0));
  session.settle();
  // Later launches of a graph use its memory at the same address.
  if (block->second.isOfGraph)
    return CUDA_SUCCESS;
  if (block->second.kind == Block::Device) {
    session.devices[size_t(block->second.device)]->memory.free(address);
  } else {
    for (std::unique_ptr<Device> &device : session.devices)
      device->memory.unmapHost(reinterpret_cast<void *>(address));
    std::free(reinterpret_cast<void *>(address));
  }
  session.blocks.erase(block);
  return CUDA_SUCCESS;
}

/// Allocates, and stores the address in a pointer of the caller.
template <typename Pointer>
static Status give(Pointer *result, size_t bytes, Block::Kind kind, unsigned flags = 0) {
  uint64_t address = 0;
  if (!result)
    return CUDA_ERROR_INVALID_VALUE;
  Status status = allocate(bytes, kind, flags, address);
  *result = Pointer(address);
  return status;
}

static Status registerHost(void *host, size_t bytes, unsigned flags) {
  Session &session = Session::get();
  if (findBlock(uint64_t(host)))
    return CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED;
  if (!host || !bytes || !mapHost(host, bytes))
    return invalid("expected host memory that is not registered");
  session.blocks[uint64_t(host)] = {Block::Registered, bytes, session.current(), flags};
  return CUDA_SUCCESS;
}

static Status unregisterHost(void *host) {
  Session &session = Session::get();
  auto block = session.blocks.find(uint64_t(host));
  if (block == session.blocks.end() || block->second.kind != Block::Registered)
    return CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED;
  for (std::unique_ptr<Device> &device : session.devices)
    device->memory.unmapHost(host);
  session.blocks.erase(block);
  return CUDA_SUCCESS;
}

/// Rows of pitched memory begin at multiples of 512 bytes.
static size_t pitchOf(size_t width) { return (width + 511) / 512 * 512; }

/// Returns the address that kernels use for host memory.
template <typename Pointer>
static Status mapped(Pointer *result, void *host) {
  if (!findBlock(uint64_t(host)))
    return CUDA_ERROR_INVALID_VALUE;
  *result = Pointer(host);
  return CUDA_SUCCESS;
}

// Work in streams: allocations belong to graphs while they are captured.
template <typename Pointer>
static Status giveInOrder(Pointer *result, size_t bytes, CUstream stream) {
  // The memory exists from the capture on, with one address for all launches.
  Stream *of = streamOf(stream);
  if (!of)
    return CUDA_ERROR_INVALID_HANDLE;
  Status status = give(result, bytes, Block::Device);
  if (!status)
    Session::get().blocks[uint64_t(*result)].isOfGraph = of->capture;
  return status;
}
static Status releaseInOrder(uint64_t address, CUstream stream) {
  Stream *of = streamOf(stream);
  if (!of)
    return CUDA_ERROR_INVALID_HANDLE;
  // A captured graph may be launched again, so its memory stays.
  return of->capture ? CUDA_SUCCESS : release(address);
}

//===----------------------------------------------------------------------===//
// Driver interface, and functions of both
//===----------------------------------------------------------------------===//

MX_DRIVER(cuMemAlloc, (CUdeviceptr * address, size_t bytes),
    { return bytes ? give(address, bytes, Block::Device) : CUDA_ERROR_INVALID_VALUE; })
MX_DRIVER(cuMemAllocPitch, (CUdeviceptr * address, size_t *pitch, size_t width, size_t height, unsigned), {
  *pitch = pitchOf(width);
  return give(address, *pitch * height, Block::Device);
})
MX_DRIVER(cuMemAllocManaged, (CUdeviceptr * address, size_t bytes, unsigned flags),
    { return give(address, bytes, Block::Managed, flags); })
MX_DRIVER(cuMemAllocAsync, (CUdeviceptr * address, size_t bytes, CUstream stream),
    { return giveInOrder(address, bytes, stream); })
MX_DRIVER(cuMemAllocFromPoolAsync, (CUdeviceptr * address, size_t bytes, CUmemoryPool, CUstream stream),
    { return giveInOrder(address, bytes, stream); })
MX_DRIVER(cuMemFree, (CUdeviceptr address), { return release(address); })
MX_DRIVER(cuMemFreeAsync, (CUdeviceptr address, CUstream stream), { return releaseInOrder(address, stream); })
MX_DRIVER(cuMemHostGetDevicePointer, (CUdeviceptr * address, void *host, unsigned), { return mapped(address, host); })
MX_BOTH(cuMemAllocHost, cudaMallocHost, (void **host, size_t bytes), { return give(host, bytes, Block::Pinned); })
MX_BOTH(cuMemHostAlloc, cudaHostAlloc, (void **host, size_t bytes, unsigned flags),
    { return give(host, bytes, Block::Pinned, flags); })
MX_BOTH(cuMemFreeHost, cudaFreeHost, (void *host), { return release(uint64_t(host)); })
MX_BOTH(cuMemHostRegister, cudaHostRegister, (void *host, size_t bytes, unsigned flags),
    { return registerHost(host, bytes, flags); })
MX_BOTH(cuMemHostUnregister, cudaHostUnregister, (void *host), { return unregisterHost(host); })
MX_BOTH(cuMemHostGetFlags, cudaHostGetFlags, (unsigned *flags, void *host), {
  auto *block = findBlock(uint64_t(host));
  if (block)
    *flags = block->second.flags | CU_MEMHOSTALLOC_DEVICEMAP;
  return block ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
})
MX_BOTH(cuMemGetInfo, cudaMemGetInfo, (size_t *free, size_t *total), {
  DeviceMemory &memory = Session::get().device().memory;
  *total = memory.bytesCapacity();
  *free = *total - memory.bytesInUse();
  return CUDA_SUCCESS;
})
MX_DRIVER(cuMemGetAddressRange, (CUdeviceptr * base, size_t *bytes, CUdeviceptr address), {
  auto *block = findBlock(address);
  if (!block)
    return CUDA_ERROR_NOT_FOUND;
  if (base)
    *base = block->first;
  if (bytes)
    *bytes = block->second.bytes;
  return CUDA_SUCCESS;
})
MX_DRIVER(cuMemAdvise, (CUdeviceptr, size_t, CUmem_advise, CUmemLocation), { return CUDA_SUCCESS; })
MX_DRIVER(cuMemPrefetchAsync, (CUdeviceptr, size_t, CUmemLocation, unsigned, CUstream), { return CUDA_SUCCESS; })
MX_DRIVER(cuStreamAttachMemAsync, (CUstream, CUdeviceptr, size_t, unsigned), { return CUDA_SUCCESS; })

/// Returns the memory type of an address, or 0 for other host memory.
static unsigned typeOf(uint64_t address) {
  auto *block = findBlock(address);
  return !block                                                                        ? 0
         : block->second.kind == Block::Device || block->second.kind == Block::Managed ? CU_MEMORYTYPE_DEVICE
                                                                                       : CU_MEMORYTYPE_HOST;
}

static Status pointerAttribute(void *data, CUpointer_attribute attribute, uint64_t address) {
  auto *block = findBlock(address);
  if (!block)
    return CUDA_ERROR_INVALID_VALUE;
  Session &session = Session::get();
  Device &owner = *session.devices[size_t(block->second.device)];
  switch (attribute) {
  case CU_POINTER_ATTRIBUTE_CONTEXT:
    *static_cast<CUcontext *>(data) = reinterpret_cast<CUcontext>(&owner.primary);
    return CUDA_SUCCESS;
  case CU_POINTER_ATTRIBUTE_MEMORY_TYPE: *static_cast<unsigned *>(data) = typeOf(address); return CUDA_SUCCESS;
  case CU_POINTER_ATTRIBUTE_DEVICE_POINTER: *static_cast<uint64_t *>(data) = address; return CUDA_SUCCESS;
  case CU_POINTER_ATTRIBUTE_HOST_POINTER:
    if (block->second.kind == Block::Device)
      return CUDA_ERROR_INVALID_VALUE;
    *static_cast<uint64_t *>(data) = address;
    return CUDA_SUCCESS;
  case CU_POINTER_ATTRIBUTE_IS_MANAGED:
    *static_cast<int *>(data) = block->second.kind == Block::Managed;
    return CUDA_SUCCESS;
  case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL: *static_cast<int *>(data) = block->second.device; return CUDA_SUCCESS;
  case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR: *static_cast<uint64_t *>(data) = block->first; return CUDA_SUCCESS;
  case CU_POINTER_ATTRIBUTE_RANGE_SIZE: *static_cast<size_t *>(data) = block->second.bytes; return CUDA_SUCCESS;
  case CU_POINTER_ATTRIBUTE_MAPPED: *static_cast<int *>(data) = 1; return CUDA_SUCCESS;
  case CU_POINTER_ATTRIBUTE_BUFFER_ID: *static_cast<uint64_t *>(data) = block->first; return CUDA_SUCCESS;
  default:
    return fail(CUDA_ERROR_NOT_SUPPORTED, "attribute " + std::to_string(attribute) + " of pointers is not supported");
  }
}
MX_DRIVER(cuPointerGetAttribute, (void *data, CUpointer_attribute attribute, CUdeviceptr address),
    { return pointerAttribute(data, attribute, address); })
MX_DRIVER(cuPointerGetAttributes, (unsigned count, CUpointer_attribute *attributes, void **data, CUdeviceptr address), {
  // Unknown memory is no error here: its attributes are zeros.
  for (unsigned i = 0; i < count; ++i)
    if (pointerAttribute(data[i], attributes[i], address))
      memset(data[i], 0, sizeof(int));
  return CUDA_SUCCESS;
})

//===----------------------------------------------------------------------===//
// Virtual memory: a reserved range is memory, so a handle is mapped only once
//===----------------------------------------------------------------------===//

namespace {
struct Physical {
  size_t bytes;
  CUmemAllocationProp properties;
  bool isMapped = false;
};
} // namespace

MX_DRIVER(
    cuMemGetAllocationGranularity, (size_t *bytes, const CUmemAllocationProp *, CUmemAllocationGranularity_flags), {
      *bytes = size_t(2) << 20;
      return CUDA_SUCCESS;
    })
MX_DRIVER(cuMemCreate,
    (CUmemGenericAllocationHandle * handle, size_t bytes, const CUmemAllocationProp *properties, unsigned long long), {
      if (properties->requestedHandleTypes)
        return fail(CUDA_ERROR_NOT_SUPPORTED, "memory shared between processes is not supported");
      *handle = uint64_t(make<Physical>(bytes, *properties));
      return CUDA_SUCCESS;
    })
MX_DRIVER(
    cuMemGetAllocationPropertiesFromHandle, (CUmemAllocationProp * properties, CUmemGenericAllocationHandle handle), {
      auto *memory = reinterpret_cast<Physical *>(handle);
      if (!isLive(memory))
        return CUDA_ERROR_INVALID_VALUE;
      *properties = memory->properties;
      return CUDA_SUCCESS;
    })
MX_DRIVER(cuMemRelease, (CUmemGenericAllocationHandle handle),
    { return destroy(reinterpret_cast<Physical *>(handle)) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE; })
MX_DRIVER(cuMemAddressReserve, (CUdeviceptr * address, size_t bytes, size_t, CUdeviceptr, unsigned long long),
    { return give(address, bytes, Block::Device); })
MX_DRIVER(cuMemAddressFree, (CUdeviceptr address, size_t), { return release(address); })
MX_DRIVER(cuMemMap,
    (CUdeviceptr address, size_t bytes, size_t offset, CUmemGenericAllocationHandle handle, unsigned long long), {
      auto *memory = reinterpret_cast<Physical *>(handle);
      if (!isLive(memory) || !findBlock(address) || bytes > memory->bytes)
        return CUDA_ERROR_INVALID_VALUE;
      if (memory->isMapped || offset)
        return fail(CUDA_ERROR_NOT_SUPPORTED, "memory mapped twice or in part is not supported");
      memory->isMapped = true;
      return CUDA_SUCCESS;
    })
MX_DRIVER(cuMemUnmap, (CUdeviceptr, size_t), { return CUDA_SUCCESS; })
MX_DRIVER(cuMemSetAccess, (CUdeviceptr address, size_t, const CUmemAccessDesc *, size_t),
    { return findBlock(address) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE; })

//===----------------------------------------------------------------------===//
// Runtime interface
//===----------------------------------------------------------------------===//

MX_RUNTIME(cudaMalloc, (void **address, size_t bytes), {
  // Zero bytes give a null pointer.
  if (bytes)
    return give(address, bytes, Block::Device);
  *address = nullptr;
  return CUDA_SUCCESS;
})
MX_RUNTIME(cudaMallocPitch, (void **address, size_t *pitch, size_t width, size_t height), {
  *pitch = pitchOf(width);
  return give(address, *pitch * height, Block::Device);
})
MX_RUNTIME(cudaMalloc3D, (cudaPitchedPtr * result, cudaExtent extent), {
  result->pitch = pitchOf(extent.width);
  result->xsize = extent.width;
  result->ysize = extent.height;
  return give(&result->ptr, result->pitch * extent.height * extent.depth, Block::Device);
})
MX_RUNTIME(cudaMallocManaged, (void **address, size_t bytes, unsigned flags),
    { return give(address, bytes, Block::Managed, flags); })
MX_RUNTIME(cudaMallocAsync, (void **address, size_t bytes, cudaStream_t stream),
    { return giveInOrder(address, bytes, stream); })
MX_RUNTIME(cudaMallocFromPoolAsync, (void **address, size_t bytes, cudaMemPool_t, cudaStream_t stream),
    { return giveInOrder(address, bytes, stream); })
MX_RUNTIME(cudaFree, (void *address), { return release(uint64_t(address)); })
MX_RUNTIME(cudaFreeAsync, (void *address, cudaStream_t stream), { return releaseInOrder(uint64_t(address), stream); })
MX_RUNTIME(cudaHostGetDevicePointer, (void **address, void *host, unsigned), { return mapped(address, host); })
MX_RUNTIME(cudaMemAdvise, (const void *, size_t, cudaMemoryAdvise, cudaMemLocation), { return CUDA_SUCCESS; })
MX_RUNTIME(
    cudaMemPrefetchAsync, (const void *, size_t, cudaMemLocation, unsigned, cudaStream_t), { return CUDA_SUCCESS; })
MX_RUNTIME(cudaStreamAttachMemAsync, (cudaStream_t, void *, size_t, unsigned), { return CUDA_SUCCESS; })
MX_RUNTIME(cudaPointerGetAttributes, (cudaPointerAttributes * result, const void *pointer), {
  auto *block = findBlock(uint64_t(pointer));
  *result = {};
  result->device = -2; // cudaInvalidDeviceId of the host
  result->hostPointer = const_cast<void *>(pointer);
  if (!block)
    return CUDA_SUCCESS;
  constexpr cudaMemoryType kTypes[] = {
      cudaMemoryTypeDevice, cudaMemoryTypeHost, cudaMemoryTypeManaged, cudaMemoryTypeHost};
  result->type = kTypes[block->second.kind];
  result->device = block->second.device;
  result->devicePointer = const_cast<void *>(pointer);
  if (block->second.kind == Block::Device)
    result->hostPointer = nullptr;
  return CUDA_SUCCESS;
})

//===----------------------------------------------------------------------===//
// Pools: memory returns to the device at once
//===----------------------------------------------------------------------===//

namespace {
struct Pool {
  int device;
  std::map<int, uint64_t> attributes{};
};
} // namespace

static Pool *defaultPool(int device) {
  static std::map<int, Pool *> pools;
  Pool *&pool = pools[device];
  if (!pool)
    pool = make<Pool>(device);
  return pool;
}

static Status poolOf(cudaMemPool_t *pool, int device) {
  if (device < 0 || size_t(device) >= Session::get().devices.size())
    return CUDA_ERROR_INVALID_DEVICE;
  *pool = reinterpret_cast<cudaMemPool_t>(defaultPool(device));
  return CUDA_SUCCESS;
}
MX_RUNTIME(cudaDeviceGetDefaultMemPool, (cudaMemPool_t * pool, int device), { return poolOf(pool, device); })
MX_RUNTIME(cudaDeviceGetMemPool, (cudaMemPool_t * pool, int device), { return poolOf(pool, device); })
MX_RUNTIME(cudaMemPoolCreate, (cudaMemPool_t * pool, const cudaMemPoolProps *properties), {
  if (properties->handleTypes != cudaMemHandleTypeNone)
    return fail(CUDA_ERROR_NOT_SUPPORTED, "memory shared between processes is not supported");
  *pool = reinterpret_cast<cudaMemPool_t>(make<Pool>(properties->location.id));
  return CUDA_SUCCESS;
})
MX_RUNTIME(cudaMemPoolDestroy, (cudaMemPool_t pool),
    { return destroy(reinterpret_cast<Pool *>(pool)) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE; })
/// Returns an attribute of a pool, or null.
static uint64_t *attributeOf(cudaMemPool_t handle, cudaMemPoolAttr attribute) {
  auto *pool = reinterpret_cast<Pool *>(handle);
  return isLive(pool) ? &pool->attributes[attribute] : nullptr;
}
/// Attributes from here on have 64 bits, the others are of type int.
constexpr cudaMemPoolAttr kFirstWide = cudaMemPoolAttrReleaseThreshold;
MX_RUNTIME(cudaMemPoolSetAttribute, (cudaMemPool_t pool, cudaMemPoolAttr attribute, void *value), {
  uint64_t *stored = attributeOf(pool, attribute);
  if (!stored)
    return CUDA_ERROR_INVALID_VALUE;
  *stored = attribute >= kFirstWide ? *static_cast<uint64_t *>(value) : uint64_t(*static_cast<int *>(value));
  return CUDA_SUCCESS;
})
MX_RUNTIME(cudaMemPoolGetAttribute, (cudaMemPool_t pool, cudaMemPoolAttr attribute, void *value), {
  uint64_t *stored = attributeOf(pool, attribute);
  if (!stored)
    return CUDA_ERROR_INVALID_VALUE;
  memcpy(value, stored, attribute >= kFirstWide ? sizeof(uint64_t) : sizeof(int));
  return CUDA_SUCCESS;
})
MX_RUNTIME(cudaMemPoolTrimTo, (cudaMemPool_t, size_t), { return CUDA_SUCCESS; })
MX_RUNTIME(cudaMemPoolSetAccess, (cudaMemPool_t, const cudaMemAccessDesc *, size_t), { return CUDA_SUCCESS; })
MX_RUNTIME(cudaMemPoolGetAccess, (cudaMemAccessFlags * flags, cudaMemPool_t, cudaMemLocation *), {
  *flags = cudaMemAccessFlagsProtReadWrite;
  return CUDA_SUCCESS;
})
