# Versions and exported symbols of the shared libraries. Below 1.0 every minor version is an ABI of its own: libtrine.so.0.1. What is not
# exported here is private, whatever its visibility; tests/test_symbols.py compares the libraries with the headers.
if(PROJECT_VERSION_MAJOR EQUAL 0)
  set(TRINE_ABI 0.${PROJECT_VERSION_MINOR})
else()
  set(TRINE_ABI ${PROJECT_VERSION_MAJOR})
endif()

# trine_exported(out headers...): the functions that these headers mark TRINE_API, as a version script has them.
function(trine_exported out)
  set(names "")
  foreach(header ${ARGN})
    set_property(DIRECTORY ${PROJECT_SOURCE_DIR} APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/${header})
    file(STRINGS ${PROJECT_SOURCE_DIR}/${header} lines REGEX "^TRINE_API ")
    foreach(line ${lines})
      string(REGEX REPLACE "^TRINE_API [^(]*[ *]([a-z0-9_]+)\\(.*" "    \\1" line "${line}")
      list(APPEND names "${line}")
    endforeach()
  endforeach()
  list(JOIN names ";\n" names)
  set(${out} "${names}" PARENT_SCOPE)
endfunction()

# What libtrine_direct uses of libtrine beside the public headers, and what tests and benchmark do.
set(trine_direct_interface src/core/direct_interface.h)
file(STRINGS ${trine_direct_interface} trine_private REGEX "^#define TRINE_DIRECT_INTERFACE [0-9]+$")
string(REGEX REPLACE "^.* " "" trine_private "${trine_private}")
trine_exported(trine_private_functions ${trine_direct_interface} src/core/plan.h src/core/consume.h)
trine_exported(trine_test_functions src/core/test_interface.h src/core/team.h src/core/test_places.h)

# libtrine_direct's script hides nothing: the functions that it defines in place of a library's have no version of trine's.
file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/generated/trine.map @ONLY CONTENT [[
TRINE_@TRINE_ABI@ {
global:
    trine_*;
    tridigpu*;
local:
    *;
};
TRINE_PRIVATE_@trine_private@ {
global:
@trine_private_functions@;
};
TRINE_TEST {
global:
@trine_test_functions@;
};
]])
file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/generated/trine_direct.map @ONLY CONTENT "TRINE_@TRINE_ABI@ { global: trine_*; };\n")

# trine_exports(target): name of the file and version script of a shared library.
function(trine_exports target)
  set_target_properties(${target} PROPERTIES VERSION ${PROJECT_VERSION} SOVERSION ${TRINE_ABI})
  if(BUILD_SHARED_LIBS)
    set(script ${PROJECT_BINARY_DIR}/generated/${target}.map)
    target_link_options(${target} PRIVATE LINKER:--version-script=${script})
    set_property(TARGET ${target} APPEND PROPERTY LINK_DEPENDS ${script})
  endif()
endfunction()
