# trine_embed(out.c NAME=file ...): a C source with the text of each file as `const char NAME[]`, ended by a zero. Made when CMake configures, so
# that tools which read the list of sources without a build find it.
function(trine_embed output)
  set(text "/* Made by cmake/embed.cmake. */\n")
  foreach(pair ${ARGN})
    string(REPLACE "=" ";" pair ${pair})
    list(GET pair 0 name)
    list(GET pair 1 file)
    set_property(DIRECTORY ${PROJECT_SOURCE_DIR} APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${file})
    file(READ ${file} bytes HEX)
    string(REGEX REPLACE "(................................)" "\\1\n" bytes "${bytes}") # 16 to a line
    string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${bytes}")
    string(APPEND text "extern const char ${name}[];\nconst char ${name}[] = {\n${bytes}0};\n")
  endforeach()
  file(CONFIGURE OUTPUT ${output} CONTENT "${text}" @ONLY)
endfunction()
