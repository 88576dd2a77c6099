//===- StageUses.cpp - Who reads and writes a stage -----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// See the header.
//
//===----------------------------------------------------------------------===//

#include "StageUses.h"

using namespace mlir;
using namespace mx::mxgpu;

bool mx::mxgpu::isOfTensorCore(RingType type) {
  return type.getProducer() == AsyncKind::MmaCommit ||
         type.getConsumer() == AsyncKind::MmaCommit;
}

bool mx::mxgpu::isWrittenByCopies(RingType type) {
  return llvm::is_contained({AsyncKind::BulkCopy, AsyncKind::Clc},
                            type.getProducer());
}

bool mx::mxgpu::isReadByThreads(RingType type, Operation *take) {
  return type.getConsumer() != AsyncKind::AsyncThreads ||
         llvm::any_of(take->getUsers(), [](Operation *user) {
           return !isa<ConsumerReleaseOp, MmaOp>(user);
         });
}

bool mx::mxgpu::isUsedBefore(Operation *take, Operation *give) {
  SmallVector<Operation *> uses;
  for (Operation *user : take->getUsers())
    if (!isa<ConsumerReleaseOp, MmaOp>(user))
      uses.push_back(user);
  if (uses.empty())
    return false;
  for (size_t i = 0; i < uses.size(); ++i) {
    Operation *use = give->getBlock()->findAncestorOpInBlock(*uses[i]);
    if (!use || !use->isBeforeInBlock(give))
      return false;
    if (isa<MmaOp, StoreSharedOp>(uses[i]))
      continue;
    if (uses[i]->use_empty())
      return false;
    llvm::append_range(uses, uses[i]->getUsers());
  }
  return true;
}
