//===- Wire.h - Bytes between all ranks of a group --------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Every pair of ranks has a connection for data. All of them are served at once
// and without blocking, so that any number of ranks may send any number of
// bytes to each other. Before its data each rank says which collective they are
// of; one that is at another one is a mismatch, and no byte of it is taken.
//===----------------------------------------------------------------------===//

#ifndef MX_RUNTIME_LIB_GROUP_WIRE_H
#define MX_RUNTIME_LIB_GROUP_WIRE_H

#include "Control.h"

namespace mx::runtime {

class Wire {
public:
  Wire(Control &control, std::vector<Socket> connections)
      : control(control), connections(std::move(connections)) {}

  /// What goes to a rank and where that rank's goes, `operation.bytes` each.
  struct Segment {
    const void *out;
    void *in;
  };
  /// Collective; `segments` has one for each rank, and this rank's is unused.
  Error transfer(const Operation &operation,
                 const std::vector<Segment> &segments);

private:
  struct Lane;
  std::vector<Lane> openLanes(const Operation &operation,
                              const std::vector<Segment> &segments);
  /// Moves what can be moved now; false: nothing could.
  bool serve(const Operation &operation, std::vector<Lane> &lanes,
             Error &error);
  Error receive(const Operation &operation, Lane &lane, bool &hasMoved);
  Error send(const Operation &operation, Lane &lane, bool &hasMoved);
  Error lose(const Operation &operation, const Lane &lane);
  /// False: the group has failed.
  bool wait(const std::vector<Lane> &lanes, Deadline deadline);

  Control &control;
  std::vector<Socket> connections;
};

} // namespace mx::runtime

#endif // MX_RUNTIME_LIB_GROUP_WIRE_H
