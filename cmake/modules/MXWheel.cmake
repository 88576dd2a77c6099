# How the libraries and programs of wheels are linked (python/CMakeLists.txt).

# mx_add_wheel(name library EXPORTS version-script OBJECTS targets... TOOLS tools...
#              [ARCHIVES files...] [OPTIONS link options...]
#              LICENSES Debian packages...)
# The target and the install component `name`: library LIBRARY of the objects of
# targets, with tools (mx_add_tool) that call it. What the objects need is taken
# from the project's libraries and the archives, which come from the packages.
function(mx_add_wheel name library)
  cmake_parse_arguments(ARG "" "EXPORTS" "OBJECTS;TOOLS;ARCHIVES;OPTIONS;LICENSES" ${ARGN})
  set(folder ${CMAKE_BINARY_DIR}/wheels/${name}/mx_compiler)
  list(TRANSFORM ARG_TOOLS APPEND -main OUTPUT_VARIABLE mains)
  mx_add_wheel_library(${name}-library ${library} ${folder} ${ARG_EXPORTS}
    "${ARG_OBJECTS};${mains}" "${ARG_ARCHIVES}" "${ARG_OPTIONS}")
  set(programs)
  set(extra)
  foreach(tool ${ARG_TOOLS})
    mx_add_wheel_tool(${name}-${tool} ${tool} ${folder}/bin ${name}-library)
    list(APPEND programs ${name}-${tool})
  endforeach()
  # Where Python has headers here; the package does without it.
  if(COMMAND mx_add_calls)
    mx_add_calls(${name}-calls ${folder} EXCLUDE_FROM_ALL)
    target_link_options(${name}-calls PRIVATE LINKER:--strip-all)
    install(TARGETS ${name}-calls
      LIBRARY DESTINATION mx_compiler COMPONENT ${name} EXCLUDE_FROM_ALL)
    list(APPEND extra ${name}-calls)
  endif()
  # Where there are tests it is always built, for them.
  set(all)
  if(MX_BUILD_TESTS)
    set(all ALL)
  endif()
  add_custom_target(${name} ${all} DEPENDS ${name}-library ${programs} ${extra})

  install(TARGETS ${name}-library
    LIBRARY DESTINATION mx_compiler COMPONENT ${name} EXCLUDE_FROM_ALL)
  install(TARGETS ${programs}
    RUNTIME DESTINATION mx_compiler/bin COMPONENT ${name} EXCLUDE_FROM_ALL)
  mx_install_package(. COMPONENT ${name} EXCLUDE_FROM_ALL)
  install(FILES mx_compiler_tools.py DESTINATION . COMPONENT ${name} EXCLUDE_FROM_ALL)
  # Systems other than Debian have no such file.
  foreach(package ${ARG_LICENSES})
    install(FILES /usr/share/doc/${package}/copyright RENAME ${package}.txt
      DESTINATION mx_compiler/licenses COMPONENT ${name} EXCLUDE_FROM_ALL OPTIONAL)
  endforeach()
endfunction()

# A library that needs the C library and libgcc_s alone, and shows the C
# interfaces and the mains of tools alone: the C++ library, LLVM and MLIR are
# within it and hidden, and do not meet those that other packages bring into the
# process. Code of the JIT calls functions of libgcc (a division of 128 bits), and
# finds those of libgcc_s.
function(mx_add_wheel_library target library folder map objects archives options)
  set(sources)
  foreach(object ${objects})
    list(APPEND sources $<TARGET_OBJECTS:${object}>)
  endforeach()
  add_library(${target} SHARED EXCLUDE_FROM_ALL ${sources})

  # Libraries by path: as targets they would bring the shared libraries.
  get_property(libraries GLOBAL PROPERTY MX_LIBRARIES)
  set(files)
  foreach(own ${libraries})
    list(APPEND files $<TARGET_FILE:${own}>)
  endforeach()
  add_dependencies(${target} ${libraries})
  target_link_options(${target} PRIVATE -static-libstdc++ ${options}
    LINKER:--gc-sections LINKER:-z,defs LINKER:--strip-all LINKER:--version-script=${map})
  target_link_libraries(${target} PRIVATE
    -Wl,--start-group ${files} ${archives} -Wl,--end-group
    # Before glibc 2.34 these were separate.
    -Wl,--no-as-needed -l:libpthread.so.0 -l:libdl.so.2 m)
  set_target_properties(${target} PROPERTIES
    LINKER_LANGUAGE CXX
    LINK_DEPENDS "${map};${files}"
    OUTPUT_NAME ${library}
    LIBRARY_OUTPUT_DIRECTORY ${folder}
    SKIP_BUILD_RPATH ON)
endfunction()

function(mx_add_wheel_tool target tool folder library)
  get_property(main GLOBAL PROPERTY MX_MAIN_OF_${tool})
  mx_add_main(${target} ${main} ${library})
  target_link_libraries(${target} PRIVATE $<TARGET_OBJECTS:mx-older-start>)
  target_link_options(${target} PRIVATE LINKER:--strip-all)
  set_target_properties(${target} PROPERTIES
    EXCLUDE_FROM_ALL ON
    OUTPUT_NAME ${tool}
    RUNTIME_OUTPUT_DIRECTORY ${folder}
    BUILD_WITH_INSTALL_RPATH ON
    INSTALL_RPATH "$ORIGIN/..")
endfunction()

# mx_find_llvm_archives(out missing): the archives of LLVM and MLIR and what they
# need, without those of tests and of MLIR's C interface; or what is missing.
function(mx_find_llvm_archives out missing)
  set(${missing} "" PARENT_SCOPE)
  file(GLOB archives ${LLVM_LIBRARY_DIR}/libLLVM*.a ${LLVM_LIBRARY_DIR}/libMLIR*.a)
  list(FILTER archives EXCLUDE REGEX "Test|MLIRCAPI|MLIRExecutionEngineShared")
  if(NOT archives)
    set(${missing} "${LLVM_LIBRARY_DIR}/libLLVM*.a" PARENT_SCOPE)
  endif()
  foreach(file libz.a libzstd.a)
    find_library(MX_${file} ${file})
    mark_as_advanced(MX_${file})
    if(MX_${file})
      list(APPEND archives ${MX_${file}})
    else()
      set(${missing} ${file} PARENT_SCOPE)
    endif()
  endforeach()
  find_program(MX_LLD ld.lld HINTS ${LLVM_TOOLS_BINARY_DIR} NO_DEFAULT_PATH)
  mark_as_advanced(MX_LLD)
  if(NOT MX_LLD)
    set(${missing} ${LLVM_TOOLS_BINARY_DIR}/ld.lld PARENT_SCOPE)
  endif()
  set(${out} ${archives} PARENT_SCOPE)
endfunction()
