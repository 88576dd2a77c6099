//===- Wire.h - Data connections between all ranks --------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Every pair of ranks has a data connection. All are served together without
// blocking, so any ranks may exchange any amount of data. Each rank first sends
// a description of the collective; data of a different collective is rejected
// as a mismatch.
//===----------------------------------------------------------------------===//

#ifndef MX_RUNTIME_LIB_GROUP_WIRE_H
#define MX_RUNTIME_LIB_GROUP_WIRE_H

#include "Control.h"

namespace mx::runtime {

class Wire {
public:
  Wire(Control &control, std::vector<Socket> connections)
      : control(control), connections(std::move(connections)) {}

  /// Data for a rank, and buffer for received data, `operation.bytes` each.
  struct Segment {
    const void *out;
    void *in;
  };
  /// Collective. `segments` has one entry for each rank; this rank's own is
  /// unused.
  Error transfer(const Operation &operation,
                 const std::vector<Segment> &segments);

private:
  struct Lane;
  std::vector<Lane> openLanes(const Operation &operation,
                              const std::vector<Segment> &segments);
  /// Transfers without waiting; returns false if nothing moved.
  bool serve(const Operation &operation, std::vector<Lane> &lanes,
             Error &error);
  Error receive(const Operation &operation, Lane &lane, bool &hasMoved);
  Error send(const Operation &operation, Lane &lane, bool &hasMoved);
  Error lose(const Operation &operation, const Lane &lane);
  /// Waits for a connection; returns false if the group has failed.
  bool wait(const std::vector<Lane> &lanes, Deadline deadline);

  Control &control;
  std::vector<Socket> connections;
};

} // namespace mx::runtime

#endif // MX_RUNTIME_LIB_GROUP_WIRE_H
