//===- Copies.cpp - Copies and fills of memory ----------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// An address determines its memory, so directions of copies are not needed.
//===----------------------------------------------------------------------===//

#include "Session.h"

#include <cstring>

using namespace mx::sim;
using namespace mx::sim::cuda;

/// Returns the device of a device address, or null for host memory.
static Device *deviceOf(uint64_t address) {
  Session &session = Session::get();
  uint64_t index = (address - DeviceMemory::kBase) / DeviceMemory::kBytes;
  return index < session.devices.size() ? session.devices[index].get() : nullptr;
}

/// Returns the bytes at an address of a device, or of the host if it is null.
static uint8_t *bytesAt(Device *device, uint64_t address, size_t count) {
  void *bytes = device ? device->memory.translate(address, count) : reinterpret_cast<void *>(address);
  if (!bytes)
    invalid("expected allocated memory, found " +
            (device ? *device : Session::get().device()).memory.describe(address, count));
  return static_cast<uint8_t *>(bytes);
}

/// Copies bytes between any two memories.
static void move(uint64_t to, uint64_t from, size_t count) {
  Device *target = deviceOf(to), *source = deviceOf(from);
  uint8_t *written = bytesAt(target, to, count), *read = bytesAt(source, from, count);
  if (target && target == source)
    target->memory.copy(to, from, count);
  else if (target)
    target->memory.copyIn(to, read, count);
  else if (source)
    source->memory.copyOut(written, from, count);
  else
    memmove(written, read, count);
}

/// Writes `count` values.
static void fill(uint64_t to, uint32_t value, unsigned width, size_t count) {
  Device *device = deviceOf(to);
  uint8_t *bytes = bytesAt(device, to, count * width);
  if (device)
    device->memory.define(to, count * width);
  for (size_t i = 0; i < count; ++i)
    memcpy(bytes + i * width, &value, width);
}

static void transfer(const Operation &work) {
  for (size_t plane = 0; plane < work.planes; ++plane)
    for (size_t row = 0; work.width && row < work.rows; ++row) {
      uint64_t to = work.to.address + (plane * work.to.height + row) * work.to.pitch;
      uint64_t from = work.from.address + (plane * work.from.height + row) * work.from.pitch;
      if (work.kind == CU_GRAPH_NODE_TYPE_MEMCPY)
        move(to, from, work.width);
      else
        fill(to, work.value, work.valueBytes, work.width / work.valueBytes);
    }
}

void mx::sim::cuda::perform(const Operation &work, Stream &stream) {
  Session &session = Session::get();
  switch (work.kind) {
  case CU_GRAPH_NODE_TYPE_KERNEL: return session.launch(work, stream.device);
  case CU_GRAPH_NODE_TYPE_MEMCPY:
  case CU_GRAPH_NODE_TYPE_MEMSET: session.settle(); return transfer(work);
  case CU_GRAPH_NODE_TYPE_HOST: session.settle(); return work.call(work.data);
  case CU_GRAPH_NODE_TYPE_EVENT_RECORD: work.event->microseconds = now(); return;
  case CU_GRAPH_NODE_TYPE_GRAPH: return runGraph(*work.graph, stream);
  default: return;
  }
}

Operation mx::sim::cuda::copyOf(Place to, Place from, size_t width, size_t rows, size_t planes) {
  Operation work{CU_GRAPH_NODE_TYPE_MEMCPY};
  work.to = to;
  work.from = from;
  work.width = width;
  work.rows = rows;
  work.planes = planes;
  return work;
}

Operation mx::sim::cuda::fillOf(
    Place to, uint32_t value, unsigned valueBytes, size_t width, size_t rows, size_t planes) {
  Operation work = copyOf(to, {}, width * valueBytes, rows, planes);
  work.kind = CU_GRAPH_NODE_TYPE_MEMSET;
  work.value = value;
  work.valueBytes = valueBytes;
  return work;
}

Operation mx::sim::cuda::copyOf(const cudaMemcpy3DParms &c) {
  if (c.srcArray || c.dstArray)
    fail(CUDA_ERROR_NOT_SUPPORTED, "arrays are not supported");
  auto place = [](const cudaPitchedPtr &p, const cudaPos &at) -> Place {
    size_t height = p.ysize ? p.ysize : 1;
    return {uint64_t(p.ptr) + (at.z * height + at.y) * p.pitch + at.x, p.pitch, height};
  };
  return copyOf(place(c.dstPtr, c.dstPos), place(c.srcPtr, c.srcPos), c.extent.width, c.extent.height, c.extent.depth);
}

static Operation copyOf(const CUDA_MEMCPY2D &c) {
  if (c.srcMemoryType == CU_MEMORYTYPE_ARRAY || c.dstMemoryType == CU_MEMORYTYPE_ARRAY)
    fail(CUDA_ERROR_NOT_SUPPORTED, "arrays are not supported");
  auto place = [](CUmemorytype type, const void *host, CUdeviceptr device, size_t x, size_t y, size_t pitch) -> Place {
    return {(type == CU_MEMORYTYPE_HOST ? uint64_t(host) : device) + y * pitch + x, pitch};
  };
  return copyOf(place(c.dstMemoryType, c.dstHost, c.dstDevice, c.dstXInBytes, c.dstY, c.dstPitch),
      place(c.srcMemoryType, c.srcHost, c.srcDevice, c.srcXInBytes, c.srcY, c.srcPitch), c.WidthInBytes, c.Height);
}

//===----------------------------------------------------------------------===//
// Interfaces
//===----------------------------------------------------------------------===//

MX_WORK(MX_DRIVER, cuMemcpy, (CUdeviceptr to, CUdeviceptr from, size_t bytes), copyOf(to, from, bytes))
MX_WORK(MX_DRIVER, cuMemcpyHtoD, (CUdeviceptr to, const void *from, size_t bytes), copyOf(to, from, bytes))
MX_WORK(MX_DRIVER, cuMemcpyDtoH, (void *to, CUdeviceptr from, size_t bytes), copyOf(to, from, bytes))
MX_WORK(MX_DRIVER, cuMemcpyDtoD, (CUdeviceptr to, CUdeviceptr from, size_t bytes), copyOf(to, from, bytes))
MX_WORK(MX_DRIVER, cuMemcpyPeer, (CUdeviceptr to, CUcontext, CUdeviceptr from, CUcontext, size_t bytes),
    copyOf(to, from, bytes))
MX_WORK(MX_DRIVER, cuMemcpy2D, (const CUDA_MEMCPY2D *c), copyOf(*c))
MX_DRIVER(cuMemcpy2DUnaligned, (const CUDA_MEMCPY2D *c), { submit(nullptr, copyOf(*c)); })
MX_WORK(MX_DRIVER, cuMemsetD8, (CUdeviceptr to, unsigned char value, size_t count), fillOf(to, value, 1, count))
MX_WORK(MX_DRIVER, cuMemsetD16, (CUdeviceptr to, unsigned short value, size_t count), fillOf(to, value, 2, count))
MX_WORK(MX_DRIVER, cuMemsetD32, (CUdeviceptr to, unsigned value, size_t count), fillOf(to, value, 4, count))

MX_WORK(MX_RUNTIME, cudaMemcpy, (void *to, const void *from, size_t bytes, cudaMemcpyKind), copyOf(to, from, bytes))
MX_WORK(MX_RUNTIME, cudaMemcpyPeer, (void *to, int, const void *from, int, size_t bytes), copyOf(to, from, bytes))
MX_WORK(MX_RUNTIME, cudaMemcpy2D,
    (void *to, size_t toPitch, const void *from, size_t fromPitch, size_t width, size_t height, cudaMemcpyKind),
    copyOf({to, toPitch}, {from, fromPitch}, width, height))
MX_WORK(MX_RUNTIME, cudaMemcpy3D, (const cudaMemcpy3DParms *c), copyOf(*c))
MX_WORK(MX_RUNTIME, cudaMemset, (void *to, int value, size_t bytes), fillOf(to, value, 1, bytes))
MX_WORK(MX_RUNTIME, cudaMemset2D, (void *to, size_t pitch, int value, size_t width, size_t height),
    fillOf({to, pitch}, value, 1, width, height))
MX_WORK(MX_RUNTIME, cudaMemset3D, (cudaPitchedPtr to, int value, cudaExtent extent),
    fillOf({to.ptr, to.pitch, to.ysize}, value, 1, extent.width, extent.height, extent.depth))
