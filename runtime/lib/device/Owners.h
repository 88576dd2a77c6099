//===- Owners.h - Whose memory, stream or event it is -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Callers pass plain addresses and the driver's own handles, also of memory and
// streams that another library made. What they belong to is asked of the one
// who knows: the simulator of its ranges and tables, the driver of the rest.
//===----------------------------------------------------------------------===//

#ifndef MX_RUNTIME_LIB_DEVICE_OWNERS_H
#define MX_RUNTIME_LIB_DEVICE_OWNERS_H

#include "../Device.h"

namespace mx::runtime {

/// The device of an address; null for memory of the host that no device uses,
/// and for what no device knows. Where the machine has one GPU the driver is
/// not asked: any address that is not the simulator's counts as the GPU's, once
/// that is in use.
Device *findOwner(const void *memory);
/// The same of what the driver says, also where there is one GPU.
Device *askOwner(const void *memory);
/// Of a stream. The default stream is of the device in use.
Error findStreamOwner(void *stream, Device *&device);
/// Of an event that the runtime made, or else the device in use.
Error findEventOwner(void *event, Device *&device);

/// That a stream, and an event, is one that the device can take. Simulated
/// devices look themselves; the driver follows any pointer.
Error checkStream(const Device &device, void *stream);
Error checkEvent(const Device &device, void *event);

/// Whether an address is of a simulated device's own memory, and of which.
bool isSimAddress(const void *memory, int &ordinal);
/// A simulated device that is in use; null for the others.
Device *getOpenSimDevice(int ordinal);
/// The simulated device that uses this memory of the host; null: none does.
Device *findSimSharing(const void *memory);
/// The simulated device of a stream or an event; null where it is none.
Device *findSimHandle(void *handle);

/// GPUs that are in use; null for the others and for all other numbers.
Device *getOpenGpu(int ordinal);
/// The only GPU of the machine if it is in use, else null.
Device *getOnlyGpu();
/// What the driver says of an address, a stream and an event of the runtime.
Device *askGpuOfMemory(const void *memory);
Device *findGpuOfStream(void *stream);
Device *findGpuOfEvent(void *event);

} // namespace mx::runtime

#endif // MX_RUNTIME_LIB_DEVICE_OWNERS_H
