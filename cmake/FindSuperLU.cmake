# SuperLU 5 (sequential) by header and library: target SuperLU::SuperLU, headers as <superlu/slu_ddefs.h>. Version 6 and later
# changed the interface and are not taken.
find_path(SuperLU_INCLUDE_DIR superlu/slu_ddefs.h)
find_library(SuperLU_LIBRARY superlu)
if(SuperLU_INCLUDE_DIR)
  file(STRINGS "${SuperLU_INCLUDE_DIR}/superlu/slu_util.h" _major REGEX "^#define SUPERLU_MAJOR_VERSION")
  string(REGEX MATCH "[0-9]+" SuperLU_VERSION "${_major}")
endif()
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(SuperLU REQUIRED_VARS SuperLU_LIBRARY SuperLU_INCLUDE_DIR VERSION_VAR SuperLU_VERSION HANDLE_VERSION_RANGE)
mark_as_advanced(SuperLU_INCLUDE_DIR SuperLU_LIBRARY)
if(SuperLU_FOUND AND NOT TARGET SuperLU::SuperLU)
  add_library(SuperLU::SuperLU UNKNOWN IMPORTED)
  set_target_properties(SuperLU::SuperLU PROPERTIES IMPORTED_LOCATION "${SuperLU_LIBRARY}"
    INTERFACE_INCLUDE_DIRECTORIES "${SuperLU_INCLUDE_DIR}")
endif()
