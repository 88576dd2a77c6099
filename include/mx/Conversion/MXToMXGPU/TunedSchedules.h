//===- TunedSchedules.h - Measured schedules ------------------ -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// JSON table of the fastest measured schedules of a GPU (docs/guide/Tuning.md),
// which mx-compile --tune writes and mx-select-schedule reads.
//===----------------------------------------------------------------------===//

#ifndef MX_CONVERSION_MXTOMXGPU_TUNEDSCHEDULES_H
#define MX_CONVERSION_MXTOMXGPU_TUNEDSCHEDULES_H

#include "mx/Dialect/MX/IR/MX.h"
#include "llvm/Support/Error.h"
#include <string>
#include <vector>

namespace mx::mxgpu {

/// Prefix of the GPU name in entries with modelled instead of measured times.
inline constexpr llvm::StringLiteral kModelOf = "the model of ";

/// Conditions of a measurement. An entry applies only if all fields are equal.
struct TunedKey {
  std::string chip;     ///< "sm_90a"
  std::string gpu;      ///< driver's name: "NVIDIA H200"
  std::string compiler; ///< version and commit of the build
  std::string matmul;   ///< getMatmulForm()

  bool operator==(const TunedKey &other) const;
};

/// A measured schedule, as the text of its attribute.
struct TimedSchedule {
  std::string schedule;
  double microseconds = 0; ///< 0 if not measured
  std::string leftOut;     ///< reason for exclusion, or empty
};

/// Schedules measured at one set of sizes, starting with the schedule that the
/// model selected.
struct TunedSizes {
  int64_t m = 0, n = 0, k = 0, groups = 1;
  std::vector<TimedSchedule> candidates;
};

struct TunedEntry {
  TunedKey key;
  /// Text of `mxgpu.schedule`, or of `mxgpu.schedules` for dynamic sizes.
  std::string schedule;
  std::string date; ///< day of the measurement in UTC: "2026-11-25"
  /// Number of schedules requested, and the row counts requested for dynamic
  /// sizes (empty: the model's cases).
  int64_t count = 0;
  std::vector<int64_t> rows;
  std::vector<TunedSizes> sizes;

  /// Returns "measured 2026-11-25 on NVIDIA H200: 12.30 us, the model's choice
  /// 13.10 us", or only the date and GPU for several sizes.
  std::string describe() const;
};

class TunedTable {
public:
  /// Reads a table. With `replacesOld`, reads other versions as empty tables.
  static llvm::Expected<TunedTable> read(const std::string &path,
                                         bool replacesOld = false);
  /// Writes a temporary file and renames it, so readers see no partial table.
  llvm::Error write(const std::string &path) const;

  /// Replaces the entry with the same key, or appends `entry`.
  void put(TunedEntry entry);
  const TunedEntry *find(const TunedKey &key) const;
  llvm::ArrayRef<TunedEntry> getEntries() const { return entries; }

private:
  std::vector<TunedEntry> entries;
};

/// Returns the matmul's key text: operation, operand types, shapes and layouts,
/// expert groups, epilogue and, for dynamic sizes, the maximum number of cases.
std::string getMatmulForm(MatmulOpInterface op, int64_t maxSchedules);

/// Entries of a table for one chip and GPU.
class TunedSchedules {
public:
  /// Reads a table. If `gpu` is empty, entries for the chip and this build must
  /// all come from one GPU.
  static llvm::Expected<TunedSchedules>
  read(const std::string &path, llvm::StringRef chip, llvm::StringRef gpu);

  const TunedEntry *find(MatmulOpInterface op, int64_t maxSchedules) const;
  /// Parses the schedule, or the array of cases, of an entry. Emits an error at
  /// `op` and returns null on failure.
  mlir::Attribute parse(MatmulOpInterface op, const TunedEntry &entry) const;
  /// Returns the reason why no entry applies, or an empty string.
  std::string explainNoEntry() const;
  llvm::StringRef getPath() const { return path; }

private:
  TunedTable table;
  std::string path, chip, gpu;
};

} // namespace mx::mxgpu

#endif // MX_CONVERSION_MXTOMXGPU_TUNEDSCHEDULES_H
