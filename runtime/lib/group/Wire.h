//===- Wire.h - Data connections between all ranks --------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Every pair of ranks shares a data connection. A rank serves all connections
// together without blocking, so any ranks may exchange any amount of data. Each
// rank first sends a description of the collective, and data of a different
// collective is rejected as a mismatch.
//===----------------------------------------------------------------------===//

#ifndef MX_RUNTIME_LIB_GROUP_WIRE_H
#define MX_RUNTIME_LIB_GROUP_WIRE_H

#include "Control.h"

namespace mx::runtime {

class Wire {
public:
  Wire(Control &control, std::vector<Socket> connections)
      : control(control), connections(std::move(connections)) {}

  /// Data for a rank, and buffer for data from the rank, of `operation.bytes`
  /// bytes each.
  struct Segment {
    const void *out;
    void *in;
  };
  /// Collective. `segments` contains one entry per rank; this rank's entry is
  /// unused.
  Error transfer(const Operation &operation,
                 const std::vector<Segment> &segments);

private:
  struct Lane;
  std::vector<Lane> openLanes(const Operation &operation,
                              const std::vector<Segment> &segments);
  /// Transfers without waiting. Returns false if no data was transferred.
  bool serve(const Operation &operation, std::vector<Lane> &lanes,
             Error &error);
  Error receive(const Operation &operation, Lane &lane, bool &hasMoved);
  Error send(const Operation &operation, Lane &lane, bool &hasMoved);
  Error lose(const Operation &operation, const Lane &lane);
  /// Waits until a connection is ready. Returns false if the group failed.
  bool wait(const std::vector<Lane> &lanes, Deadline deadline);

  Control &control;
  std::vector<Socket> connections;
};

} // namespace mx::runtime

#endif // MX_RUNTIME_LIB_GROUP_WIRE_H
