//===- TunedSchedules.h - Schedules that were measured ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// A table of the schedules that were fastest on a GPU, as a file of JSON
// (docs/guide/Tuning.md). mx-select-schedule takes from it what fits;
// mx-compile --tune writes it.
//
//===----------------------------------------------------------------------===//

#ifndef MX_CONVERSION_MXTOMXGPU_TUNEDSCHEDULES_H
#define MX_CONVERSION_MXTOMXGPU_TUNEDSCHEDULES_H

#include "mx/Dialect/MX/IR/MX.h"
#include "llvm/Support/Error.h"
#include <string>
#include <vector>

namespace mx::mxgpu {

/// Begins the name of a GPU whose times are modelled.
inline constexpr llvm::StringLiteral kModelOf = "the model of ";

/// What a measurement holds for: no more than it was made for.
struct TunedKey {
  std::string chip;     ///< "sm_90a"
  std::string gpu;      ///< as the driver says it: "NVIDIA H200"
  std::string compiler; ///< version and commit of the build
  std::string matmul;   ///< getMatmulForm()

  bool operator==(const TunedKey &other) const;
};

/// A schedule that was tried, as the text of its attribute.
struct TimedSchedule {
  std::string schedule;
  double microseconds = 0; ///< 0 where it was left out
  std::string leftOut;     ///< why, or empty
};

/// The schedules that were tried at one choice of sizes, the model's first.
struct TunedSizes {
  int64_t m = 0, n = 0, k = 0, groups = 1;
  std::vector<TimedSchedule> candidates;
};

struct TunedEntry {
  TunedKey key;
  /// The text of `mxgpu.schedule`, or of `mxgpu.schedules` where types leave
  /// sizes open.
  std::string schedule;
  std::string date; ///< of the measurement, UTC: "2026-11-25"
  /// How many schedules were asked for, and which sizes where types leave them
  /// open; empty for those of the model's cases.
  int64_t count = 0;
  std::vector<int64_t> rows;
  std::vector<TunedSizes> sizes;

  /// "measured 2026-11-25 on NVIDIA H200: 12.30 us, the model's choice 13.10
  /// us"; with several sizes, the date and the GPU alone.
  std::string describe() const;
};

class TunedTable {
public:
  /// The table in a file. The error says what is wrong with the file, and what
  /// to do. For what writes it anew, one of another version is empty.
  static llvm::Expected<TunedTable> read(const std::string &path,
                                         bool replacesOld = false);
  /// Writes it beside its place and renames it: no process sees a part of it.
  llvm::Error write(const std::string &path) const;

  /// In the place of the entry of the same key, or after all others.
  void put(TunedEntry entry);
  const TunedEntry *find(const TunedKey &key) const;
  llvm::ArrayRef<TunedEntry> getEntries() const { return entries; }

private:
  std::vector<TunedEntry> entries;
};

/// All of a matmul that decides which schedule is fastest: operation, types of
/// operands with their shapes and layouts, groups, epilogue; and for sizes that
/// no type knows how many cases it may have at most.
std::string getMatmulForm(MatmulOpInterface op, int64_t maxSchedules);

/// What takes schedules for one chip out of a table.
class TunedSchedules {
public:
  /// `gpu` may be empty: then entries of any GPU are taken, if all for the chip
  /// and this build are of one.
  static llvm::Expected<TunedSchedules>
  read(const std::string &path, llvm::StringRef chip, llvm::StringRef gpu);

  /// That of a matmul, or null.
  const TunedEntry *find(MatmulOpInterface op, int64_t maxSchedules) const;
  /// The schedule, or an array of cases, of an entry; null after an error at
  /// `op`.
  mlir::Attribute parse(MatmulOpInterface op, const TunedEntry &entry) const;
  /// Why nothing in the file is for this chip, GPU and build; empty if
  /// something is.
  std::string explainNoEntry() const;
  llvm::StringRef getPath() const { return path; }

private:
  TunedTable table;
  std::string path, chip, gpu;
};

} // namespace mx::mxgpu

#endif // MX_CONVERSION_MXTOMXGPU_TUNEDSCHEDULES_H
