//===- Simulator.cpp - Modules and launches -------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Connects front end, machine, instruction set and observers behind
// Simulator.h.
//===----------------------------------------------------------------------===//

#include "mxsim/Simulator.h"

#include "Launch.h"
#include "checks/Order.h"
#include "exec/Instructions.h"
#include "machine/Decoder.h"
#include "machine/Machine.h"
#include "machine/Routines.h"
#include "machine/WorldState.h"
#include "ptx/ParameterUses.h"
#include "ptx/Parser.h"
#include "report/Recorder.h"
#include "timed/Timed.h"

#include "mxsim/InputKind.h"
#include "mxsim/Report.h"

#include <map>

using namespace mx::sim;

struct Module::Impl : Module::Contents {
  std::unique_ptr<ptx::Module> ast;
  DeviceMemory *memory = nullptr;
  std::map<const ptx::Function *, std::unique_ptr<Program>> programs;

  /// This module and the modules linked with it.
  std::vector<Impl *> linked = {this};
  std::string allocate(DeviceMemory &device);
  void release(DeviceMemory &device);
  /// Writes addresses into initializers.
  std::string patch(DeviceMemory &device);
  /// Decodes all kernels once in advance to compute static shared memory and to
  /// find unsupported instructions. Addresses of globals are not assigned yet.
  void inspect();
};

void Module::Impl::inspect() {
  for (ptx::Module *m : ast->linked)
    for (ptx::Variable *v : m->globals)
      v->placed = !v->isExtern;
  kernels.clear();
  for (ptx::Function &f : ast->functions) {
    if (!f.isEntry || !f.isDefined)
      continue;
    Program program;
    std::vector<Diagnostic> ignored;
    f.info.unsupported.clear();
    Decoder(*ast, program, ptxInstructions())
        .decode(f, ignored, f.info.unsupported);
    f.info.staticSharedBytes = program.staticSharedEnd - kReservedShared;
    ptx::findParameterUses(*ast, f);
    kernels.push_back(f.info);
  }
  for (ptx::Module *m : ast->linked)
    for (ptx::Variable *v : m->globals)
      v->placed = false;
}

Module::Module(std::unique_ptr<Impl> impl)
    : self(std::move(impl)), contents(*self) {}
Module::~Module() = default;

std::unique_ptr<Module> Module::parse(std::string_view text,
                                      std::string_view name,
                                      std::vector<Diagnostic> &errors) {
  if (const InputKind *kind = kindOfOtherInput(text)) {
    errors.push_back({std::string("expected PTX text, found ") + kind->name +
                          ": " + kind->advice,
                      1, 1});
    return nullptr;
  }
  auto impl = std::make_unique<Impl>();
  impl->ast = ptx::parse(text, name, errors);
  if (!impl->ast)
    return nullptr;
  impl->name = impl->ast->name;
  impl->target = impl->ast->target;
  impl->inspect();
  for (ptx::Variable *v : impl->ast->globals) {
    if (v->space == ptx::Space::Global || v->space == ptx::Space::Const)
      impl->globals.push_back({std::string(v->name), v->bytes, 0});
  }
  return std::unique_ptr<Module>(new Module(std::move(impl)));
}

const KernelInfo *Module::findKernel(std::string_view name) const {
  for (const KernelInfo &k : self->kernels)
    if (k.name == name)
      return &k;
  return nullptr;
}

const GlobalInfo *Module::findGlobal(std::string_view name) const {
  for (const GlobalInfo &g : self->globals)
    if (g.name == name)
      return &g;
  return nullptr;
}

std::string Module::link(const std::vector<Module *> &modules) {
  std::vector<ptx::Module *> asts;
  for (Module *m : modules) {
    if (m->self->memory)
      return "module '" + m->name() + "' is already loaded";
    asts.push_back(m->self->ast.get());
  }
  std::string error = ptx::link(asts);
  if (!error.empty())
    return error;
  for (Module *m : modules) {
    m->self->linked.clear();
    for (Module *other : modules)
      m->self->linked.push_back(other->self.get());
    m->self->inspect();
  }
  return {};
}

std::string Module::load(DeviceMemory &memory) {
  if (self->memory == &memory)
    return {};
  // Load all linked modules or none, even if memory is exhausted.
  struct Undo {
    ~Undo() {
      for (Impl *impl : linked)
        if (!impl->memory)
          impl->release(memory);
    }
    const std::vector<Impl *> &linked;
    DeviceMemory &memory;
  } undo = {self->linked, memory};
  // Initializers may contain addresses in any linked module.
  for (bool patches : {false, true})
    for (Impl *impl : self->linked) {
      if (impl->memory && impl->memory != &memory)
        return "module '" + impl->ast->name + "' is loaded in another memory";
      std::string error =
          patches ? impl->patch(memory) : impl->allocate(memory);
      if (!error.empty())
        return error;
    }
  for (Impl *impl : self->linked) {
    impl->memory = &memory;
    impl->programs.clear();
  }
  return {};
}

std::string Module::Impl::allocate(DeviceMemory &device) {
  size_t k = 0;
  for (ptx::Variable *v : ast->globals) {
    if (v->space != ptx::Space::Global && v->space != ptx::Space::Const)
      continue;
    GlobalInfo &info = globals[k++];
    if (v->isExtern || v->placed)
      continue;
    v->address = device.alloc(v->bytes, v->align,
                              shortVariableName(std::string(v->name)));
    if (!v->address)
      return "no memory for variable '" + std::string(v->name) + "' of " +
             std::to_string(v->bytes) + " bytes";
    v->placed = true;
    info.address = v->address;
    // PTX ISA: variables without an initializer are zero.
    device.fill(v->address, 0, v->bytes);
    device.copyIn(v->address, v->init.data(), v->init.size());
  }
  return {};
}

std::string Module::Impl::patch(DeviceMemory &device) {
  std::map<std::string_view, const ptx::Variable *> byName;
  for (const ptx::Variable *v : ast->globals)
    byName[v->name] = v->definition ? v->definition : v;
  for (const ptx::Variable *v : ast->globals) {
    for (const ptx::Variable::Fixup &f : v->fixups) {
      uint64_t address = 0;
      auto it = byName.find(f.target);
      auto g = ast->functionByName.find(f.target);
      if (it != byName.end() && it->second->placed)
        address = it->second->address + f.addend;
      else if (g != ast->functionByName.end())
        address = addressOfFunction(*g->second);
      else
        return "the initializer of '" + std::string(v->name) +
               "' names the unknown variable '" + std::string(f.target) + "'";
      device.copyIn(v->address + f.offset, &address,
                    std::min<unsigned>(f.bytes, 8));
    }
  }
  return {};
}

void Module::unload() {
  if (!self->memory)
    return;
  self->release(*self->memory);
  self->memory = nullptr;
  self->programs.clear();
}

void Module::Impl::release(DeviceMemory &device) {
  for (ptx::Variable *v : ast->globals)
    if (v->placed) {
      device.free(v->address);
      v->placed = false;
      v->address = 0;
    }
  for (GlobalInfo &g : globals)
    g.address = 0;
}

/// Workspace as on an H200: size, barrier of grid.sync
/// (cooperative_groups/details/driver_abi.h), and two more words.
static constexpr uint32_t kGridWorkspace[] = {16, 0, 1, 0};

Launch::Launch(Module &module, DeviceMemory &memory, const LaunchConfig &config,
               LaunchReport &report, WorldDevice *device)
    : memory(memory) {
  make(module, config, report, device);
}

static void addObservers(Machine &machine) {
  if (machine.config.checks & kCheckOrder)
    machine.observers.push_back(std::make_unique<OrderCheck>(machine));
  auto recording = std::make_unique<Recording>(machine);
  if (!machine.config.timedChip.empty())
    machine.timing = std::make_unique<TimedLaunch>(machine, *recording);
  machine.observers.push_back(std::move(recording));
}

void Launch::make(Module &module, const LaunchConfig &config,
                  LaunchReport &report, WorldDevice *device) {
  Module::Impl &impl = module.impl();
  auto bad = [&](std::string message) {
    Finding f;
    f.kind = FindingKind::BadLaunch;
    f.module = module.name();
    f.message = std::move(message);
    report.findings.push_back(std::move(f));
    report.status = LaunchStatus::BadInput;
  };
  auto it = impl.ast->functionByName.find(config.kernel);
  if (it == impl.ast->functionByName.end() || !it->second->isEntry ||
      !it->second->isDefined) {
    std::string names;
    for (const KernelInfo &k : impl.kernels)
      names += (names.empty() ? "" : ", ") + k.name;
    return bad("no kernel '" + config.kernel + "' in the module, which has " +
               (names.empty() ? "none" : names));
  }
  std::string error = module.load(memory);
  if (!error.empty())
    return bad(std::move(error));
  std::unique_ptr<Program> &program = impl.programs[it->second];
  if (!program) {
    // Cached only after successful decoding.
    auto decoded = std::make_unique<Program>();
    std::vector<Diagnostic> errors, unsupported;
    Decoder(*impl.ast, *decoded, ptxInstructions())
        .decode(*it->second, errors, unsupported);
    program = std::move(decoded);
  }
  report.facts = {config.kernel,
                  impl.ast->name,
                  impl.ast->target,
                  config.grid,
                  config.block,
                  config.cluster,
                  it->second->info.staticSharedBytes,
                  config.dynamicSharedBytes,
                  config.smCount,
                  config.seed,
                  config.checks,
                  config.truncatesTensorSums,
                  device ? int(device->number) : -1};
  memory.beginLaunch(config.programmatic);
  uint64_t workspace = 0;
  if (config.cooperative) {
    workspace = memory.alloc(sizeof kGridWorkspace, 256, "grid workspace");
    if (!memory.copyIn(workspace, kGridWorkspace, sizeof kGridWorkspace))
      return bad("no memory is left for the workspace of a cooperative launch");
  }
  made.emplace(*program, memory, config, *impl.ast, report, device);
  made->gridWorkspace = workspace;
  addObservers(*made);
}

Launch::~Launch() {
  if (made)
    memory.free(made->gridWorkspace);
}

LaunchReport mx::sim::launch(Module &module, DeviceMemory &memory,
                             const LaunchConfig &config) {
  LaunchReport report;
  Launch launch(module, memory, config, report);
  if (Machine *machine = launch.machine())
    machine->run();
  return report;
}
