//===- Owners.h - Owning device of memory, streams and events ---*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Callers pass plain addresses and driver handles, including handles of other
// libraries. The simulator looks up handles in tables; the driver is queried
// for all others.
//===----------------------------------------------------------------------===//

#ifndef MX_RUNTIME_LIB_DEVICE_OWNERS_H
#define MX_RUNTIME_LIB_DEVICE_OWNERS_H

#include "../Device.h"

namespace mx::runtime {

/// Returns the device of an address, or null for unknown addresses and unshared
/// host memory. If the machine's only GPU is in use, the driver is not queried,
/// and every address outside the simulator is attributed to the GPU.
Device *findOwner(const void *memory);
/// Returns the device of an address as reported by the driver, even if the
/// machine contains a single GPU.
Device *askOwner(const void *memory);
/// Finds the device of a stream: the current device for the default stream.
Error findStreamOwner(void *stream, Device *&device);
/// Finds the device of an event. An event of another library is attributed to
/// the current device.
Error findEventOwner(void *event, Device *&device);

/// Check that `device` can use the stream or event. Simulated devices check
/// handles themselves, but the driver would dereference any pointer.
Error checkStream(const Device &device, void *stream);
Error checkEvent(const Device &device, void *event);

/// Returns true if an address belongs to a simulated device's own memory, and
/// sets the ordinal.
bool isSimAddress(const void *memory, int &ordinal);
/// Returns a simulated device in use, or null.
Device *getOpenSimDevice(int ordinal);
/// Returns the simulated device that shares this host memory, or null.
Device *findSimSharing(const void *memory);
/// Returns the simulated device of a stream or event, or null.
Device *findSimHandle(void *handle);

/// Returns GPU `ordinal` if the GPU is in use, else null. Accepts any ordinal.
Device *getOpenGpu(int ordinal);
/// Returns the machine's only GPU if in use, else null.
Device *getOnlyGpu();
/// Query the driver for the device of an address, a stream, or an event of the
/// runtime.
Device *askGpuOfMemory(const void *memory);
Device *findGpuOfStream(void *stream);
Device *findGpuOfEvent(void *event);

} // namespace mx::runtime

#endif // MX_RUNTIME_LIB_DEVICE_OWNERS_H
