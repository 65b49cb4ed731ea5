# What the modules beside this share, for libraries that distributions ship no package files with: find_header_and_library(NAME
# HEADER LIBRARY) finds a library of SuiteSparse and makes the target NAME::NAME.
include(FindPackageHandleStandardArgs)
macro(find_header_and_library name header library)
  find_path(${name}_INCLUDE_DIR ${header} PATH_SUFFIXES suitesparse)
  find_library(${name}_LIBRARY ${library})
  find_package_handle_standard_args(${name} REQUIRED_VARS ${name}_INCLUDE_DIR ${name}_LIBRARY)
  mark_as_advanced(${name}_INCLUDE_DIR ${name}_LIBRARY)
  if(${name}_FOUND AND NOT TARGET ${name}::${name})
    add_library(${name}::${name} UNKNOWN IMPORTED)
    set_target_properties(${name}::${name} PROPERTIES IMPORTED_LOCATION "${${name}_LIBRARY}"
      INTERFACE_INCLUDE_DIRECTORIES "${${name}_INCLUDE_DIR}")
  endif()
endmacro()
