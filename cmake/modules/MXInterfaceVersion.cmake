# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# mx_interface_version(TARGET HEADER NAME): the SOVERSION of a library is the
# number that its header defines as NAME, so that there is one place for it.
function(mx_interface_version target header name)
  file(STRINGS ${header} line REGEX "^#define ${name} [0-9]+$")
  if(NOT line MATCHES "([0-9]+)$")
    message(FATAL_ERROR "${header}: expected a line '#define ${name} NUMBER', found none")
  endif()
  set_target_properties(${target} PROPERTIES SOVERSION ${CMAKE_MATCH_1})
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${header})
endfunction()
