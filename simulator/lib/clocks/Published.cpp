//===- Published.cpp - Clocks published by strong writes ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Published.h"

using namespace mx::sim;

void Published::release(uint64_t address, const Knowledge &known,
                        uint64_t cluster) {
  Clock generic = known.generic.exported(cluster);
  Clock async = known.async.exported(cluster);
  Clock asyncGlobal = known.asyncGlobal.exported(cluster);
  Clock maps = known.maps.exported(cluster);
  Clock ofOthers = known.ofOthers.exported(cluster);
  Clock narrow = known.rare ? known.rare->narrow.exported(cluster) : Clock();
  std::lock_guard<std::mutex> lock(mutex);
  Cell &cell = cells[address];
  ++cell.releases;
  Knowledge &to = cell.known;
  to.generic.join(generic);
  to.async.join(async);
  to.asyncGlobal.join(asyncGlobal);
  to.maps.join(maps);
  to.ofOthers.join(ofOthers);
  if (known.rare)
    to.ownRare().narrow.join(narrow);
}

uint64_t Published::acquire(uint64_t address, Knowledge &known,
                            uint64_t cluster, uint64_t acquired) {
  std::lock_guard<std::mutex> lock(mutex);
  auto it = cells.find(address);
  if (it == cells.end() || it->second.releases == acquired)
    return acquired;
  const Knowledge &from = it->second.known;
  known.generic.import(from.generic, cluster);
  known.async.import(from.async, cluster);
  known.asyncGlobal.import(from.asyncGlobal, cluster);
  known.maps.import(from.maps, cluster);
  known.ofOthers.import(from.ofOthers, cluster);
  if (from.rare)
    known.ownRare().narrow.import(from.rare->narrow, cluster);
  return it->second.releases;
}
