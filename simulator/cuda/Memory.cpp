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

/// Returns the block that contains the address, or null.
static std::pair<const uint64_t, Block> *findBlock(uint64_t address) {
  std::map<uint64_t, Block> &blocks = Session::get().blocks;
  auto next = blocks.upper_bound(address);
  if (next == blocks.begin())
    return nullptr;
  --next;
  return address - next->first < std::max<size_t>(next->second.bytes, 1) ? &*next : nullptr;
}
static std::pair<const uint64_t, Block> &blockOf(uint64_t address, Status otherwise = CUDA_ERROR_INVALID_VALUE) {
  auto *block = findBlock(address);
  require(block, otherwise);
  return *block;
}

/// Maps host memory into all devices.
static bool mapHost(void *host, size_t bytes) {
  for (std::unique_ptr<Device> &device : Session::get().devices)
    if (!device->memory.mapHost(host, bytes))
      return false;
  return true;
}
static void unmapHost(void *host) {
  for (std::unique_ptr<Device> &device : Session::get().devices)
    device->memory.unmapHost(host);
}

uint64_t mx::sim::cuda::allocate(size_t bytes, Block::Kind kind, unsigned flags) {
  Session &session = Session::get();
  DeviceMemory &memory = session.device().memory;
  uint64_t address;
  if (kind == Block::Device) {
    address = memory.alloc(bytes);
    if (!address)
      fail(CUDA_ERROR_OUT_OF_MEMORY, "expected at most " +
                                         std::to_string(memory.bytesCapacity() - memory.bytesInUse()) +
                                         " free bytes, found " + std::to_string(bytes));
    if (session.devices.size() > 1)
      memory.share(address);
  } else {
    constexpr size_t kPage = 4096;
    if (bytes > memory.bytesCapacity())
      fail(CUDA_ERROR_OUT_OF_MEMORY, "expected less memory, found " + std::to_string(bytes) + " bytes");
    void *host = std::aligned_alloc(kPage, (std::max<size_t>(bytes, 1) + kPage - 1) / kPage * kPage);
    if (!host || !mapHost(host, bytes)) {
      std::free(host);
      throw CUDA_ERROR_OUT_OF_MEMORY;
    }
    address = uint64_t(host);
    memory.fillPoison(address, bytes);
  }
  session.blocks[address] = {kind, bytes, session.current(), flags};
  return address;
}

void mx::sim::cuda::release(uint64_t address) {
  Session &session = Session::get();
  if (!address)
    return;
  auto block = session.blocks.find(address);
  if (block == session.blocks.end() || block->second.kind == Block::Registered)
    invalid("expected the start of an allocation, found " + session.device().memory.describe(address, 0));
  session.settle();
  // Later launches of a graph use its memory at the same address.
  if (block->second.isOfGraph)
    return;
  if (block->second.kind == Block::Device) {
    session.devices[size_t(block->second.device)]->memory.free(address);
  } else {
    unmapHost(reinterpret_cast<void *>(address));
    std::free(reinterpret_cast<void *>(address));
  }
  session.blocks.erase(block);
}

/// Allocates, and stores the address in a pointer of the caller.
template <typename Pointer>
static void give(Pointer *result, size_t bytes, Block::Kind kind = Block::Device, unsigned flags = 0) {
  require(result);
  *result = {};
  *result = Pointer(allocate(bytes, kind, flags));
}

/// Rows of pitched memory begin at multiples of 512 bytes.
static size_t pitchOf(size_t width) { return (width + 511) / 512 * 512; }
template <typename Pointer>
static void giveRows(Pointer *result, size_t *pitch, size_t width, size_t height) {
  *pitch = pitchOf(width);
  give(result, *pitch * height);
}

/// Returns the address that kernels use for host memory.
static uint64_t mapped(void *host) {
  blockOf(uint64_t(host));
  return uint64_t(host);
}

// Work in streams: allocations belong to graphs while they are captured. The
// memory exists from the capture on, with one address for all launches.
template <typename Pointer>
static void giveInOrder(Pointer *result, size_t bytes, CUstream stream) {
  bool isOfGraph = streamOf(stream).capture;
  give(result, bytes);
  Session::get().blocks[uint64_t(*result)].isOfGraph = isOfGraph;
}
static void releaseInOrder(uint64_t address, CUstream stream) {
  // A captured graph may be launched again, so its memory stays.
  if (!streamOf(stream).capture)
    release(address);
}

//===----------------------------------------------------------------------===//
// Driver interface, and functions of both
//===----------------------------------------------------------------------===//

MX_DRIVER(cuMemAlloc, (CUdeviceptr * address, size_t bytes), {
  require(bytes);
  give(address, bytes);
})
MX_DRIVER(cuMemAllocPitch, (CUdeviceptr * address, size_t *pitch, size_t width, size_t height, unsigned),
    { giveRows(address, pitch, width, height); })
MX_DRIVER(cuMemAllocManaged, (CUdeviceptr * address, size_t bytes, unsigned flags),
    { give(address, bytes, Block::Managed, flags); })
MX_DRIVER(
    cuMemAllocAsync, (CUdeviceptr * address, size_t bytes, CUstream stream), { giveInOrder(address, bytes, stream); })
MX_DRIVER(cuMemAllocFromPoolAsync, (CUdeviceptr * address, size_t bytes, CUmemoryPool, CUstream stream),
    { giveInOrder(address, bytes, stream); })
MX_DRIVER(cuMemFree, (CUdeviceptr address), { release(address); })
MX_DRIVER(cuMemFreeAsync, (CUdeviceptr address, CUstream stream), { releaseInOrder(address, stream); })
MX_DRIVER(cuMemHostGetDevicePointer, (CUdeviceptr * address, void *host, unsigned), { *address = mapped(host); })
MX_BOTH(cuMemAllocHost, cudaMallocHost, (void **host, size_t bytes), { give(host, bytes, Block::Pinned); })
MX_BOTH(cuMemHostAlloc, cudaHostAlloc, (void **host, size_t bytes, unsigned flags),
    { give(host, bytes, Block::Pinned, flags); })
MX_BOTH(cuMemFreeHost, cudaFreeHost, (void *host), { release(uint64_t(host)); })
MX_BOTH(cuMemHostRegister, cudaHostRegister, (void *host, size_t bytes, unsigned flags), {
  Session &session = Session::get();
  require(!findBlock(uint64_t(host)), CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED);
  if (!host || !bytes || !mapHost(host, bytes))
    invalid("expected host memory that is not registered");
  session.blocks[uint64_t(host)] = {Block::Registered, bytes, session.current(), flags};
})
MX_BOTH(cuMemHostUnregister, cudaHostUnregister, (void *host), {
  auto &blocks = Session::get().blocks;
  auto block = blocks.find(uint64_t(host));
  require(block != blocks.end() && block->second.kind == Block::Registered, CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED);
  unmapHost(host);
  blocks.erase(block);
})
MX_BOTH(cuMemHostGetFlags, cudaHostGetFlags, (unsigned *flags, void *host),
    { *flags = blockOf(uint64_t(host)).second.flags | CU_MEMHOSTALLOC_DEVICEMAP; })
MX_BOTH(cuMemGetInfo, cudaMemGetInfo, (size_t *free, size_t *total), {
  DeviceMemory &memory = Session::get().device().memory;
  *total = memory.bytesCapacity();
  *free = *total - memory.bytesInUse();
})
MX_DRIVER(cuMemGetAddressRange, (CUdeviceptr * base, size_t *bytes, CUdeviceptr address), {
  auto &[begin, block] = blockOf(address, CUDA_ERROR_NOT_FOUND);
  if (base)
    *base = begin;
  if (bytes)
    *bytes = block.bytes;
})

static void pointerAttribute(void *data, CUpointer_attribute attribute, uint64_t address) {
  auto &[begin, block] = blockOf(address);
  auto give = [&](auto value) { *static_cast<decltype(value) *>(data) = value; };
  switch (attribute) {
  case CU_POINTER_ATTRIBUTE_CONTEXT: return give(&Session::get().devices[size_t(block.device)]->primary);
  case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
    return give(
        block.kind == Block::Device || block.kind == Block::Managed ? CU_MEMORYTYPE_DEVICE : CU_MEMORYTYPE_HOST);
  case CU_POINTER_ATTRIBUTE_HOST_POINTER: require(block.kind != Block::Device); return give(address);
  case CU_POINTER_ATTRIBUTE_DEVICE_POINTER: return give(address);
  case CU_POINTER_ATTRIBUTE_IS_MANAGED: return give(int(block.kind == Block::Managed));
  case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL: return give(block.device);
  case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
  case CU_POINTER_ATTRIBUTE_BUFFER_ID: return give(begin);
  case CU_POINTER_ATTRIBUTE_RANGE_SIZE: return give(block.bytes);
  case CU_POINTER_ATTRIBUTE_MAPPED: return give(1);
  default: fail(CUDA_ERROR_NOT_SUPPORTED, "attribute " + std::to_string(attribute) + " of pointers is not supported");
  }
}
MX_DRIVER(cuPointerGetAttribute, (void *data, CUpointer_attribute attribute, CUdeviceptr address),
    { pointerAttribute(data, attribute, address); })
MX_DRIVER(cuPointerGetAttributes, (unsigned count, CUpointer_attribute *attributes, void **data, CUdeviceptr address), {
  // Unknown memory is no error here: its attributes are zeros.
  for (unsigned i = 0; i < count; ++i)
    try {
      pointerAttribute(data[i], attributes[i], address);
    } catch (Status) { memset(data[i], 0, sizeof(int)); }
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

MX_DRIVER(cuMemGetAllocationGranularity, (size_t *bytes, const CUmemAllocationProp *, CUmemAllocationGranularity_flags),
    { *bytes = size_t(2) << 20; })
MX_DRIVER(cuMemCreate,
    (CUmemGenericAllocationHandle * handle, size_t bytes, const CUmemAllocationProp *properties, unsigned long long), {
      if (properties->requestedHandleTypes)
        fail(CUDA_ERROR_NOT_SUPPORTED, "memory shared between processes is not supported");
      *handle = uint64_t(make<Physical>(bytes, *properties));
    })
MX_DRIVER(cuMemGetAllocationPropertiesFromHandle,
    (CUmemAllocationProp * properties, CUmemGenericAllocationHandle handle),
    { *properties = live<Physical>(handle).properties; })
MX_DRIVER(cuMemRelease, (CUmemGenericAllocationHandle handle), { destroy(live<Physical>(handle)); })
MX_DRIVER(cuMemAddressReserve, (CUdeviceptr * address, size_t bytes, size_t, CUdeviceptr, unsigned long long),
    { give(address, bytes); })
MX_DRIVER(cuMemAddressFree, (CUdeviceptr address, size_t), { release(address); })
MX_DRIVER(cuMemMap,
    (CUdeviceptr address, size_t bytes, size_t offset, CUmemGenericAllocationHandle handle, unsigned long long), {
      Physical &memory = live<Physical>(handle);
      require(findBlock(address) && bytes <= memory.bytes);
      if (memory.isMapped || offset)
        fail(CUDA_ERROR_NOT_SUPPORTED, "memory mapped twice or in part is not supported");
      memory.isMapped = true;
    })
MX_DRIVER(cuMemSetAccess, (CUdeviceptr address, size_t, const CUmemAccessDesc *, size_t), { blockOf(address); })

//===----------------------------------------------------------------------===//
// Runtime interface
//===----------------------------------------------------------------------===//

MX_RUNTIME(cudaMalloc, (void **address, size_t bytes), {
  // Zero bytes give a null pointer.
  if (bytes)
    give(address, bytes);
  else
    *address = nullptr;
})
MX_RUNTIME(cudaMallocPitch, (void **address, size_t *pitch, size_t width, size_t height),
    { giveRows(address, pitch, width, height); })
MX_RUNTIME(cudaMalloc3D, (cudaPitchedPtr * result, cudaExtent extent), {
  result->xsize = extent.width;
  result->ysize = extent.height;
  giveRows(&result->ptr, &result->pitch, extent.width, extent.height * extent.depth);
})
MX_RUNTIME(
    cudaMallocManaged, (void **address, size_t bytes, unsigned flags), { give(address, bytes, Block::Managed, flags); })
MX_RUNTIME(
    cudaMallocAsync, (void **address, size_t bytes, cudaStream_t stream), { giveInOrder(address, bytes, stream); })
MX_RUNTIME(cudaMallocFromPoolAsync, (void **address, size_t bytes, cudaMemPool_t, cudaStream_t stream),
    { giveInOrder(address, bytes, stream); })
MX_RUNTIME(cudaFree, (void *address), { release(uint64_t(address)); })
MX_RUNTIME(cudaFreeAsync, (void *address, cudaStream_t stream), { releaseInOrder(uint64_t(address), stream); })
MX_RUNTIME(cudaHostGetDevicePointer, (void **address, void *host, unsigned),
    { *address = reinterpret_cast<void *>(mapped(host)); })
MX_RUNTIME(cudaPointerGetAttributes, (cudaPointerAttributes * result, const void *pointer), {
  auto *block = findBlock(uint64_t(pointer));
  *result = {};
  result->device = -2; // cudaInvalidDeviceId of the host
  result->hostPointer = const_cast<void *>(pointer);
  if (!block)
    return;
  constexpr cudaMemoryType kTypes[] = {
      cudaMemoryTypeDevice, cudaMemoryTypeHost, cudaMemoryTypeManaged, cudaMemoryTypeHost};
  result->type = kTypes[block->second.kind];
  result->device = block->second.device;
  result->devicePointer = const_cast<void *>(pointer);
  if (block->second.kind == Block::Device)
    result->hostPointer = nullptr;
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

static Pool &in(cudaMemPool_t pool) { return live<Pool>(pool); }
static cudaMemPool_t defaultPool(int device) {
  deviceAt(device);
  return reinterpret_cast<cudaMemPool_t>(&defaultOf<Pool>(device));
}
MX_RUNTIME(cudaDeviceGetDefaultMemPool, (cudaMemPool_t * pool, int device), { *pool = defaultPool(device); })
MX_RUNTIME(cudaDeviceGetMemPool, (cudaMemPool_t * pool, int device), { *pool = defaultPool(device); })
MX_RUNTIME(cudaMemPoolCreate, (cudaMemPool_t * pool, const cudaMemPoolProps *properties), {
  if (properties->handleTypes != cudaMemHandleTypeNone)
    fail(CUDA_ERROR_NOT_SUPPORTED, "memory shared between processes is not supported");
  *pool = reinterpret_cast<cudaMemPool_t>(make<Pool>(properties->location.id));
})
MX_RUNTIME(cudaMemPoolDestroy, (cudaMemPool_t pool), {
  Pool &found = in(pool);
  if (&found == &defaultOf<Pool>(found.device))
    invalid("expected a pool of cudaMemPoolCreate, found the default pool of device " + std::to_string(found.device));
  destroy(found);
})
/// Attributes from here on have 64 bits, the others are of type int.
constexpr cudaMemPoolAttr kFirstWide = cudaMemPoolAttrReleaseThreshold;
MX_RUNTIME(cudaMemPoolSetAttribute, (cudaMemPool_t pool, cudaMemPoolAttr attribute, void *value), {
  in(pool).attributes[attribute] =
      attribute >= kFirstWide ? *static_cast<uint64_t *>(value) : uint64_t(*static_cast<int *>(value));
})
MX_RUNTIME(cudaMemPoolGetAttribute, (cudaMemPool_t pool, cudaMemPoolAttr attribute, void *value),
    { memcpy(value, &in(pool).attributes[attribute], attribute >= kFirstWide ? sizeof(uint64_t) : sizeof(int)); })
MX_RUNTIME(cudaMemPoolGetAccess, (cudaMemAccessFlags * flags, cudaMemPool_t, cudaMemLocation *),
    { *flags = cudaMemAccessFlagsProtReadWrite; })
