# How the compiler's libraries are built: include paths and the shared libMLIR. The rest is
# shared with the simulator.
include(${CMAKE_SOURCE_DIR}/simulator/cmake/MXBuild.cmake)

include_directories(${CMAKE_SOURCE_DIR}/include ${CMAKE_BINARY_DIR}/include)
include_directories(SYSTEM ${LLVM_INCLUDE_DIRS})
add_definitions(${LLVM_DEFINITIONS})
if(MX_BUILD_COMPILER)
  list(APPEND CMAKE_MODULE_PATH ${MLIR_CMAKE_DIR} ${LLVM_CMAKE_DIR})
  include_directories(SYSTEM ${MLIR_INCLUDE_DIRS})
  # Link the shared libMLIR: archives beside it would duplicate its state.
  set(MLIR_LINK_MLIR_DYLIB ON)
  include(TableGen)
  include(AddLLVM)
  include(AddMLIR)
endif()
set(MX_RPATH "$ORIGIN/../${CMAKE_INSTALL_LIBDIR}" ${LLVM_LIBRARY_DIR})

# mx_install_package(folder [options of install...]): the Python package, with the
# examples that it compiles in other sizes and the headers that it reads the C interface
# from.
function(mx_install_package folder)
  install(DIRECTORY ${CMAKE_SOURCE_DIR}/python/mx_compiler DESTINATION ${folder} ${ARGN}
    FILES_MATCHING PATTERN "*.py" PATTERN "py.typed")
  install(FILES
    ${CMAKE_SOURCE_DIR}/examples/moe_layer.mlir ${CMAKE_SOURCE_DIR}/examples/moe_layer_ranks.mlir
    DESTINATION ${folder}/mx_compiler/templates ${ARGN})
  install(DIRECTORY ${CMAKE_SOURCE_DIR}/runtime/include/
    DESTINATION ${folder}/mx_compiler/include ${ARGN} FILES_MATCHING PATTERN "*.h")
  install(FILES ${CMAKE_SOURCE_DIR}/include/mx-c/Compiler.h
    DESTINATION ${folder}/mx_compiler/include/mx-c ${ARGN} OPTIONAL)
endfunction()

# mx_optimize_little(target): what takes time in the compiler's libraries is MLIR's code,
# which is compiled already: -O3 makes them no faster (docs/contributing/Developing.md), and
# takes a third longer.
function(mx_optimize_little target)
  target_compile_options(${target} PRIVATE $<$<CONFIG:Release>:-O1>)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    # Garbage collection takes a tenth of the time.
    target_compile_options(${target} PRIVATE --param ggc-min-expand=200)
  endif()
endfunction()

# mx_precompile_headers(target): MLIR's headers take most of the time that a file
# of the compiler takes. What a file uses it includes nevertheless: it must
# compile without this, too. Clang takes headers of the same level of optimization only.
function(mx_precompile_headers target)
  if(NOT MX_PRECOMPILE_HEADERS OR NOT MX_BUILD_COMPILER)
    return()
  endif()
  if(NOT TARGET mx-precompiled)
    add_library(mx-precompiled OBJECT ${CMAKE_SOURCE_DIR}/cmake/Precompiled.cpp)
    target_precompile_headers(mx-precompiled PRIVATE
      ${CMAKE_SOURCE_DIR}/cmake/Precompiled.h)
    mx_optimize_little(mx-precompiled)
    # What ccache compares instead of a gigabyte.
    file(SHA256 ${CMAKE_SOURCE_DIR}/cmake/Precompiled.h sum)
    file(WRITE
      ${CMAKE_CURRENT_BINARY_DIR}/CMakeFiles/mx-precompiled.dir/cmake_pch.hxx.gch.sum
      "LLVM ${LLVM_PACKAGE_VERSION}, ${sum}\n")
  endif()
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    target_compile_options(${target} PRIVATE -fpch-preprocess)
  endif()
  target_precompile_headers(${target} REUSE_FROM mx-precompiled)
endfunction()

# mx_tablegen(name kind [options]): the declarations and definitions of a kind, such as op.
macro(mx_tablegen name kind)
  mlir_tablegen(${name}.h.inc -gen-${kind}-decls ${ARGN})
  mlir_tablegen(${name}.cpp.inc -gen-${kind}-defs ${ARGN})
endmacro()

# mx_add_mlir_library(name SOURCES... [LINK libs...] [DEPENDS targets...])
# A static library of the compiler; users of it link libMLIR and libLLVM.
function(mx_add_mlir_library name)
  mx_add_library(${name} ${ARGN})
  target_link_libraries(${name} PUBLIC MLIR LLVM)
  mx_precompile_headers(${name})
  mx_compile_together(${name})
  mx_optimize_little(${name})
  set_property(GLOBAL APPEND PROPERTY MX_MLIR_LIBRARIES ${name})
endfunction()
