//===- GroupSearch.h - Which group has a work tile --------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Searches the cumulative ends of the groups, which only the device knows. All
// lanes of a warp must take part.
//
//===----------------------------------------------------------------------===//

#ifndef MX_LIB_CONVERSION_MXGPUTONVVM_WORK_GROUPSEARCH_H
#define MX_LIB_CONVERSION_MXGPUTONVVM_WORK_GROUPSEARCH_H

#include "../Lowering.h"

namespace mx::mxgpu {

/// A work tile in its group: all i32.
struct FoundWorkTile {
  mlir::Value group, begin, end; ///< the group and its rows
  mlir::Value inGroup;           ///< number of the unit among the group's
  mlir::Value exists;            ///< i1: without it the others say nothing
};

class GroupSearch {
public:
  /// Work tiles have this many rows; with `columns` (i32) there is one for each
  /// column of tiles. No group ends beyond `rows` (index) or the last offset.
  /// With a `stride` (index) groups begin at multiples of it, and `offsets`
  /// holds their numbers of rows.
  GroupSearch(NVVMBuilder &builder, mlir::Value offsets, mlir::Value rows,
              int64_t tileRows, mlir::Value columns = {},
              mlir::Value stride = {});

  /// The group that has the work tile of this number (i32).
  FoundWorkTile find(mlir::Value unit);

  /// Tiles of the rows from `begin` to `end`: all i32.
  mlir::Value getTilesOf(mlir::Value begin, mlir::Value end);

  /// Whether there is a group of this number (i32).
  mlir::Value isGroup(mlir::Value group);
  /// Where it begins and ends if each group gets whole tiles of rows, of which
  /// there are `most` (i32) together: i32s.
  std::pair<mlir::Value, mlir::Value> getPackedRange(mlir::Value group,
                                                     mlir::Value most);

private:
  /// What the lanes know of 32 groups: all i32.
  struct Groups {
    mlir::Value begin, end;    // of the lane's group
    mlir::Value units, before; // of it, and of those before it among the 32
  };

  mlir::Value isBelow(mlir::Value a, mlir::Value b);
  mlir::Type getOffsetType();
  mlir::Value load(mlir::Value group);
  mlir::Value loadClamped(mlir::Value group);
  Groups loadGroups(mlir::Value first, mlir::Value previous);
  Groups look(mlir::Value first, mlir::Value previous);

  /// Values that a scan finds after those that it carries.
  static constexpr unsigned kFound = 4;
  llvm::SmallVector<mlir::Value>
  scan(mlir::ValueRange initial,
       llvm::function_ref<mlir::Value(mlir::ValueRange,
                                      llvm::SmallVector<mlir::Value> &)>
           body);
  bool areFew();

  NVVMBuilder &builder;
  mlir::Value offsets;
  int64_t tileRows;
  mlir::Value columns;
  mlir::Value count;  // of groups, i32
  mlir::Value limit;  // of all numbers, of the offsets' type
  mlir::Value stride; // from group to group, i32, or null
};

/// The rows of a group's tile: i32s.
std::pair<mlir::Value, mlir::Value> getTileRows(NVVMBuilder &builder,
                                                const FoundWorkTile &found,
                                                mlir::Value tile,
                                                int64_t tileRows);

} // namespace mx::mxgpu

#endif // MX_LIB_CONVERSION_MXGPUTONVVM_WORK_GROUPSEARCH_H
