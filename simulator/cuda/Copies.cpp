//===- Copies.cpp - Copies and fills of memory ----------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// An address determines its memory, so directions of copies are not needed.
//===----------------------------------------------------------------------===//

#include "Session.h"

#include <cstring>

using namespace mx::sim;
using namespace mx::sim::cuda;

/// Copies bytes between any two memories.
static Status move(uint64_t to, uint64_t from, size_t bytes) {
  Device *target = deviceOf(to), *source = deviceOf(from);
  for (auto [device, address] : {std::pair(target, to), std::pair(source, from)})
    if (device && !device->memory.translate(address, bytes))
      return invalid("expected allocated memory, found " + device->memory.describe(address, bytes));
  if (target && target == source)
    target->memory.copy(to, from, bytes);
  else if (target)
    target->memory.copyIn(to, source ? source->memory.translate(from, bytes) : (void *)from, bytes);
  else if (source)
    source->memory.copyOut(reinterpret_cast<void *>(to), from, bytes);
  else
    memmove(reinterpret_cast<void *>(to), reinterpret_cast<void *>(from), bytes);
  return CUDA_SUCCESS;
}

/// Writes `count` values.
static Status fill(uint64_t to, uint32_t value, unsigned width, size_t count) {
  auto *bytes = reinterpret_cast<uint8_t *>(to);
  if (Device *device = deviceOf(to)) {
    bytes = static_cast<uint8_t *>(device->memory.translate(to, count * width));
    if (!bytes)
      return invalid("expected allocated memory, found " + device->memory.describe(to, count * width));
    device->memory.define(to, count * width);
  }
  for (size_t i = 0; i < count; ++i)
    memcpy(bytes + i * width, &value, width);
  return CUDA_SUCCESS;
}

static Status transfer(const Operation &work) {
  bool isCopy = work.kind == CU_GRAPH_NODE_TYPE_MEMCPY;
  for (size_t plane = 0; plane < work.planes; ++plane)
    for (size_t row = 0; row < work.rows; ++row) {
      uint64_t to = work.to.address + (plane * work.to.height + row) * work.to.pitch;
      uint64_t from = work.from.address + (plane * work.from.height + row) * work.from.pitch;
      Status status = !work.width ? CUDA_SUCCESS
                      : isCopy    ? move(to, from, work.width)
                                  : fill(to, work.value, work.valueBytes, work.width / work.valueBytes);
      if (status)
        return status;
    }
  return CUDA_SUCCESS;
}

Status mx::sim::cuda::perform(const Operation &work, Stream *stream) {
  Session &session = Session::get();
  switch (work.kind) {
  case CU_GRAPH_NODE_TYPE_KERNEL: return session.launch(work, stream->device);
  case CU_GRAPH_NODE_TYPE_MEMCPY:
  case CU_GRAPH_NODE_TYPE_MEMSET: session.settle(); return transfer(work);
  case CU_GRAPH_NODE_TYPE_HOST:
    session.settle();
    work.call(work.data);
    return CUDA_SUCCESS;
  case CU_GRAPH_NODE_TYPE_EVENT_RECORD:
    work.event->isRecorded = true;
    work.event->microseconds = now();
    return CUDA_SUCCESS;
  case CU_GRAPH_NODE_TYPE_GRAPH: return runGraph(*work.graph, stream);
  default: return CUDA_SUCCESS;
  }
}

static Status copy(Place to, Place from, size_t width, size_t rows, size_t planes, CUstream stream) {
  Operation work;
  work.kind = CU_GRAPH_NODE_TYPE_MEMCPY;
  work.to = to;
  work.from = from;
  work.width = width;
  work.rows = rows;
  work.planes = planes;
  return submit(stream, std::move(work));
}

template <typename To, typename From>
static Status copy(To to, From from, size_t bytes, CUstream stream = nullptr) {
  return copy({uint64_t(to)}, {uint64_t(from)}, bytes, 1, 1, stream);
}

static Status fill(
    Place to, uint32_t value, unsigned valueBytes, size_t width, size_t rows, size_t planes, CUstream stream) {
  Operation work;
  work.kind = CU_GRAPH_NODE_TYPE_MEMSET;
  work.to = to;
  work.value = value;
  work.valueBytes = valueBytes;
  work.width = width * valueBytes;
  work.rows = rows;
  work.planes = planes;
  return submit(stream, std::move(work));
}

//===----------------------------------------------------------------------===//
// Driver interface
//===----------------------------------------------------------------------===//

MX_DRIVER(cuMemcpy, (CUdeviceptr to, CUdeviceptr from, size_t bytes), { return copy(to, from, bytes); })
MX_DRIVER(cuMemcpyAsync, (CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream),
    { return copy(to, from, bytes, stream); })
MX_DRIVER(cuMemcpyHtoD, (CUdeviceptr to, const void *from, size_t bytes), { return copy(to, from, bytes); })
MX_DRIVER(cuMemcpyHtoDAsync, (CUdeviceptr to, const void *from, size_t bytes, CUstream stream),
    { return copy(to, from, bytes, stream); })
MX_DRIVER(cuMemcpyDtoH, (void *to, CUdeviceptr from, size_t bytes), { return copy(to, from, bytes); })
MX_DRIVER(cuMemcpyDtoHAsync, (void *to, CUdeviceptr from, size_t bytes, CUstream stream),
    { return copy(to, from, bytes, stream); })
MX_DRIVER(cuMemcpyDtoD, (CUdeviceptr to, CUdeviceptr from, size_t bytes), { return copy(to, from, bytes); })
MX_DRIVER(cuMemcpyDtoDAsync, (CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream),
    { return copy(to, from, bytes, stream); })
MX_DRIVER(cuMemcpyPeer, (CUdeviceptr to, CUcontext, CUdeviceptr from, CUcontext, size_t bytes),
    { return copy(to, from, bytes); })
MX_DRIVER(cuMemcpyPeerAsync, (CUdeviceptr to, CUcontext, CUdeviceptr from, CUcontext, size_t bytes, CUstream stream),
    { return copy(to, from, bytes, stream); })

/// Returns one end of a two-dimensional copy.
static uint64_t endOf(CUmemorytype type, const void *host, CUdeviceptr device, size_t x, size_t y, size_t pitch) {
  uint64_t begin = type == CU_MEMORYTYPE_HOST ? uint64_t(host) : device;
  return begin + y * pitch + x;
}
static Status copy2D(const CUDA_MEMCPY2D &c, CUstream stream) {
  if (c.srcMemoryType == CU_MEMORYTYPE_ARRAY || c.dstMemoryType == CU_MEMORYTYPE_ARRAY)
    return fail(CUDA_ERROR_NOT_SUPPORTED, "arrays are not supported");
  return copy({endOf(c.dstMemoryType, c.dstHost, c.dstDevice, c.dstXInBytes, c.dstY, c.dstPitch), c.dstPitch},
      {endOf(c.srcMemoryType, c.srcHost, c.srcDevice, c.srcXInBytes, c.srcY, c.srcPitch), c.srcPitch}, c.WidthInBytes,
      c.Height, 1, stream);
}
MX_DRIVER(cuMemcpy2D, (const CUDA_MEMCPY2D *c), { return copy2D(*c, nullptr); })
MX_DRIVER(cuMemcpy2DUnaligned, (const CUDA_MEMCPY2D *c), { return copy2D(*c, nullptr); })
MX_DRIVER(cuMemcpy2DAsync, (const CUDA_MEMCPY2D *c, CUstream stream), { return copy2D(*c, stream); })

#define MX_FILL(suffix, type)                                                                                          \
  MX_DRIVER(cuMemset##suffix, (CUdeviceptr to, type value, size_t count),                                              \
      { return fill({to}, value, sizeof(type), count, 1, 1, nullptr); })                                               \
  MX_DRIVER(cuMemset##suffix##Async, (CUdeviceptr to, type value, size_t count, CUstream stream),                      \
      { return fill({to}, value, sizeof(type), count, 1, 1, stream); })
MX_FILL(D8, unsigned char)
MX_FILL(D16, unsigned short)
MX_FILL(D32, unsigned int)

//===----------------------------------------------------------------------===//
// Runtime interface
//===----------------------------------------------------------------------===//

MX_RUNTIME(cudaMemcpy, (void *to, const void *from, size_t bytes, cudaMemcpyKind), { return copy(to, from, bytes); })
MX_RUNTIME(cudaMemcpyAsync, (void *to, const void *from, size_t bytes, cudaMemcpyKind, cudaStream_t stream),
    { return copy(to, from, bytes, stream); })
MX_RUNTIME(cudaMemcpyPeer, (void *to, int, const void *from, int, size_t bytes), { return copy(to, from, bytes); })
MX_RUNTIME(cudaMemcpyPeerAsync, (void *to, int, const void *from, int, size_t bytes, cudaStream_t stream),
    { return copy(to, from, bytes, stream); })
MX_RUNTIME(cudaMemcpy2D,
    (void *to, size_t toPitch, const void *from, size_t fromPitch, size_t width, size_t height, cudaMemcpyKind),
    { return copy({uint64_t(to), toPitch}, {uint64_t(from), fromPitch}, width, height, 1, nullptr); })
MX_RUNTIME(cudaMemcpy2DAsync,
    (void *to, size_t toPitch, const void *from, size_t fromPitch, size_t width, size_t height, cudaMemcpyKind,
        cudaStream_t stream),
    { return copy({uint64_t(to), toPitch}, {uint64_t(from), fromPitch}, width, height, 1, stream); })

Status mx::sim::cuda::copyOf(const cudaMemcpy3DParms &c, Operation &work) {
  if (c.srcArray || c.dstArray)
    return fail(CUDA_ERROR_NOT_SUPPORTED, "arrays are not supported");
  auto place = [](const cudaPitchedPtr &p, const cudaPos &at) {
    size_t height = p.ysize ? p.ysize : 1;
    return Place{uint64_t(p.ptr) + (at.z * height + at.y) * p.pitch + at.x, p.pitch, height};
  };
  work.kind = CU_GRAPH_NODE_TYPE_MEMCPY;
  work.to = place(c.dstPtr, c.dstPos);
  work.from = place(c.srcPtr, c.srcPos);
  work.width = c.extent.width;
  work.rows = c.extent.height;
  work.planes = c.extent.depth;
  return CUDA_SUCCESS;
}
static Status copy3D(const cudaMemcpy3DParms &c, CUstream stream) {
  Operation work;
  if (Status status = copyOf(c, work))
    return status;
  return submit(stream, std::move(work));
}
MX_RUNTIME(cudaMemcpy3D, (const cudaMemcpy3DParms *c), { return copy3D(*c, nullptr); })
MX_RUNTIME(cudaMemcpy3DAsync, (const cudaMemcpy3DParms *c, cudaStream_t stream), { return copy3D(*c, stream); })

MX_RUNTIME(
    cudaMemset, (void *to, int value, size_t bytes), { return fill({uint64_t(to)}, value, 1, bytes, 1, 1, nullptr); })
MX_RUNTIME(cudaMemsetAsync, (void *to, int value, size_t bytes, cudaStream_t stream),
    { return fill({uint64_t(to)}, value, 1, bytes, 1, 1, stream); })
MX_RUNTIME(cudaMemset2D, (void *to, size_t pitch, int value, size_t width, size_t height),
    { return fill({uint64_t(to), pitch}, value, 1, width, height, 1, nullptr); })
MX_RUNTIME(cudaMemset2DAsync, (void *to, size_t pitch, int value, size_t width, size_t height, cudaStream_t stream),
    { return fill({uint64_t(to), pitch}, value, 1, width, height, 1, stream); })
MX_RUNTIME(cudaMemset3D, (cudaPitchedPtr to, int value, cudaExtent extent), {
  return fill({uint64_t(to.ptr), to.pitch, to.ysize}, value, 1, extent.width, extent.height, extent.depth, nullptr);
})
