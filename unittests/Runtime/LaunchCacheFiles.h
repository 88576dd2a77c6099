//===- LaunchCacheFiles.h - Plans that may be cached ------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Handwritten entries with the same signature. The first entry uses only the
// tables of the plan. The other entries contain steps that change numbers,
// choose buffers and encode tensor maps, read a number from the device,
// allocate memory, or submit very many commands.
//===----------------------------------------------------------------------===//

#ifndef MX_UNITTESTS_RUNTIME_LAUNCHCACHEFILES_H
#define MX_UNITTESTS_RUNTIME_LAUNCHCACHEFILES_H

#include <string>

namespace kept {

inline constexpr char kTables[] = R"(
      "arguments": [
        {"name": "x", "type": "tensor<?x64xbf16>", "dtype": "u2", "shape": ["?", 64]},
        {"name": "w", "type": "tensor<64x64xi8>", "dtype": "u1", "shape": [64, 64]},
        {"name": "n", "type": "index", "dtype": "i8"},
        {"name": "s", "type": "f32", "dtype": "f4"}
      ],
      "results": [
        {"name": "y", "type": "tensor<?x64xbf16>", "dtype": "u2", "shape": ["arg0[0]", 64]},
        {"name": "total", "type": "index", "dtype": "i8", "value": "TOTAL"}
      ],
      "values": [
        ["mul", "arg0[0]", 128],
        ["ceildiv", "v0", 256],
        ["mul", "v1", 256],
        ["mod", "arg0.address", 16],
        ["eq", "v3", 0],
        ["le", "arg2", 6],
        ["min", "arg0[0]", "sm_count"],
        ["add", "arg2", "v0"],
        ["addf.f32", "arg3.bits", "arg3.bits"]
      ],
      "requires": [
        {"condition": "v4", "message": "expected x at a multiple of 16, found {} after one", "values": ["v3"]},
        {"condition": "v5", "message": "expected n of at most 6, found {}", "values": ["arg2"]}
      ],
      "workspace": "v2",
      "buffers": [
        {"offset": 0, "bytes": "v0"}
      ],
      "tensor_maps": [
        {"buffer": "arg0", "offset": 0, "type": "bf16", "dims": [64, "arg0[0]"], "strides": [128], "box": [64, 8], "swizzle": "128b", "l2": "256b", "oob": "zero"},
        {"buffer": "arg1", "offset": 0, "type": "u8", "dims": [64, 64], "strides": [64], "box": [64, 64], "swizzle": "64b", "l2": "256b", "oob": "zero"}
      ],
)";

struct Entry {
  const char *name, *total, *steps;
};
inline constexpr Entry kEntries[] = {{"tables", "v7", R"(
        {"memset": "result0", "byte": 7, "bytes": "v0"},
        {"copy": "arg0", "to": "work0", "bytes": "v0"},
        {"launch": "kernel", "grid": ["v6", 1, 1], "args": [{"tensor_map": 0}, {"tensor_map": 1}, {"buffer": "result0"}, {"buffer": "work0"}, {"i64": "v7"}, {"argument": 3}, {"f32": "v8"}, {"buffer": "const0"}]}
)"},
                                     {"flow", "v9", R"(
        {
          "for": "v10", "from": 0, "to": "arg2", "step": 1,
          "carries": ["buf0", "v9"], "init": ["arg0", 0],
          "do": {
            "steps": [
              {"choose": "buf1", "among": ["work0", "result0"], "besides": ["buf0"]},
              {"compute": "v11", "as": ["le", "v10", 4]},
              {"require": {"condition": "v11", "message": "expected at most 5 rounds, found more than {}", "values": ["v10"]}},
              {"encode": 2, "map": {"buffer": "buf1", "offset": 0, "type": "bf16", "dims": [64, "arg0[0]"], "strides": [128], "box": [64, 8], "swizzle": "none", "l2": "none", "oob": "zero"}},
              {"launch": "kernel", "grid": ["v6", 1, 1], "args": [{"tensor_map": 0}, {"tensor_map": 2}, {"buffer": "buf0"}, {"buffer": "buf1"}, {"i64": "v10"}, {"argument": 3}, {"f32": "v8"}, {"buffer": "const0"}]},
              {"compute": "v12", "as": ["add", "v9", "v10"]}
            ],
            "yields": ["buf1", "v12"]
          }
        },
        {
          "if": "v9", "results": [],
          "then": {"steps": [{"copy": "arg0", "to": "result0", "bytes": "v0"}], "yields": []},
          "else": {"steps": [{"memset": "result0", "byte": 9, "bytes": "v0"}], "yields": []}
        }
)"},
                                     {"reads", "v9", R"(
        {
          "if": 1, "results": ["v9"],
          "then": {"steps": [{"read": "arg1", "offset": 0, "dtype": "i4", "to": "v10"}], "yields": ["v10"]},
          "else": {"steps": [], "yields": [0]}
        },
        {"copy": "arg0", "to": "work0", "bytes": "v0"},
        {"launch": "kernel", "grid": ["v6", 1, 1], "args": [{"tensor_map": 0}, {"tensor_map": 1}, {"buffer": "result0"}, {"buffer": "work0"}, {"i64": "v9"}, {"argument": 3}, {"f32": "v8"}, {"buffer": "const0"}]}
)"},
                                     {"takes", "v7", R"(
        {"take": "buf0", "bytes": "v0"},
        {"copy": "arg0", "to": "buf0", "bytes": "v0"},
        {"copy": "buf0", "to": "result0", "bytes": "v0"}
)"},
                                     // More commands than a call may defer.
                                     {"many", "v0", R"(
        {
          "for": "v9", "from": 0, "to": 16390, "step": 1, "carries": [], "init": [],
          "do": {"steps": [{"memset": "result0", "byte": 1, "bytes": "v0"}], "yields": []}
        }
)"}};

/// Returns a manifest with a kernel of eight parameters and a constant of 256
/// bytes.
inline std::string makeManifest() {
  std::string text = R"({
  "format": 5, "target": "sm_90a", "ptx": "kernels.ptx",
  "data": "constants.bin", "constants": [{"name": "c", "offset": 0, "bytes": 256}],
  "kernels": [{"name": "kernel", "block": [128, 1, 1], "dynamic_smem": 0, "programmatic": false}],
  "entries": [)";
  for (const Entry &entry : kEntries) {
    std::string tables = kTables, mark = "TOTAL";
    tables.replace(tables.find(mark), mark.size(), entry.total);
    text += std::string(&entry == kEntries ? "" : ",") + "{\"name\": \"" +
            entry.name + "\"," + tables + "\"steps\": [" + entry.steps + "]}";
  }
  return text + "]}";
}

} // namespace kept

#endif // MX_UNITTESTS_RUNTIME_LAUNCHCACHEFILES_H
