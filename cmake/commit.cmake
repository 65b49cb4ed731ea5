# cmake -DSOURCE=DIR -DOUTPUT=FILE -P commit.cmake: write the commit of SOURCE as a C header, with "-changed" where files differ
# from it. Runs in every build and touches the file only if the text is another one. "unknown" where SOURCE is no checkout: an
# unpacked archive, perhaps inside somebody else's repository.
cmake_minimum_required(VERSION 3.25)
set(commit unknown)
if(EXISTS ${SOURCE}/.git)
  execute_process(COMMAND git -C ${SOURCE} rev-parse --short=12 HEAD
    OUTPUT_VARIABLE head OUTPUT_STRIP_TRAILING_WHITESPACE RESULT_VARIABLE no_commit ERROR_QUIET)
  if(NOT no_commit)
    execute_process(COMMAND git -C ${SOURCE} diff --quiet HEAD RESULT_VARIABLE changed ERROR_QUIET)
    set(commit ${head})
    if(changed)
      string(APPEND commit -changed)
    endif()
  endif()
endif()
file(CONFIGURE OUTPUT ${OUTPUT} CONTENT "#define TRINE_COMMIT \"${commit}\"\n")
