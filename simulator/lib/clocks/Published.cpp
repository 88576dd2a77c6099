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
  Knowledge &to = cells[address];
  to.generic.join(generic);
  to.async.join(async);
  to.asyncGlobal.join(asyncGlobal);
  to.maps.join(maps);
  to.ofOthers.join(ofOthers);
  if (known.rare)
    to.ownRare().narrow.join(narrow);
}

void Published::acquire(uint64_t address, Knowledge &known, uint64_t cluster) {
  std::lock_guard<std::mutex> lock(mutex);
  auto it = cells.find(address);
  if (it == cells.end())
    return;
  known.generic.import(it->second.generic, cluster);
  known.async.import(it->second.async, cluster);
  known.asyncGlobal.import(it->second.asyncGlobal, cluster);
  known.maps.import(it->second.maps, cluster);
  known.ofOthers.import(it->second.ofOthers, cluster);
  if (it->second.rare)
    known.ownRare().narrow.import(it->second.rare->narrow, cluster);
}
