# usage: cmake -DNM=nm -DOBJECTS=a.c.o|b.c.o|... -P allocation_symbols.cmake
# All host memory comes from the context's allocator: fails when a C source refers to the C library's, but where a context and its helpers
# are made, and where SuperLU's own functions are passed on.
string(REPLACE "|" ";" OBJECTS "${OBJECTS}")
list(FILTER OBJECTS INCLUDE REGEX "\\.c\\.o(bj)?$")
if(NOT OBJECTS)
  message(FATAL_ERROR "no objects of C sources")
endif()
foreach(object ${OBJECTS})
  execute_process(COMMAND ${NM} --undefined-only ${object} OUTPUT_VARIABLE symbols COMMAND_ERROR_IS_FATAL ANY)
  string(REGEX MATCHALL "U (malloc|calloc|realloc|reallocarray|aligned_alloc|memalign|posix_memalign|valloc|strdup|strndup|asprintf|vasprintf|getline)\n" found "${symbols}")
  if(object MATCHES "src/core/context\\.c\\.o" AND NOT found) # else the pattern proves nothing
    message(FATAL_ERROR "${object} has no allocator:\n${symbols}")
  elseif(found AND NOT object MATCHES "(core/context|core/team|isolation)\\.c\\.o")
    message(FATAL_ERROR "${object} refers to ${found}")
  endif()
endforeach()
