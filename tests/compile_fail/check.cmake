# Compiles one wrong program and holds the first error against the sentence in the program's first line.
#   cmake -DCOMPILER=... -DSOURCE=... -DINCLUDE=... -DHEADER=... -P check.cmake
# A program that expects nothing must compile. With -DPRECOMPILE=... it makes the precompiled header instead.
set(flags -std=c++20 -I${INCLUDE})
if(PRECOMPILE)
  file(WRITE ${HEADER} "#include <tessera/dsl/lang/lang.h>\n")
  execute_process(COMMAND ${COMPILER} ${flags} -x c++-header ${HEADER} -o ${PRECOMPILE} COMMAND_ERROR_IS_FATAL ANY)
  return()
endif()

file(STRINGS ${SOURCE} first LIMIT_COUNT 1)
if(NOT first MATCHES "^// expect: (.+)$")
  message(FATAL_ERROR "${SOURCE}: the first line must be '// expect: <sentence>'")
endif()
set(sentence "${CMAKE_MATCH_1}")

execute_process(COMMAND ${COMPILER} ${flags} -fsyntax-only -include ${HEADER} ${SOURCE}
                RESULT_VARIABLE status OUTPUT_VARIABLE text ERROR_VARIABLE text)
if(sentence STREQUAL "nothing")
  if(NOT status EQUAL 0)
    message(FATAL_ERROR "a right program does not compile:\n${text}")
  endif()
  return()
endif()
if(status EQUAL 0)
  message(FATAL_ERROR "the program compiles, but should be refused with: ${sentence}")
endif()
string(REGEX MATCH "error:[^\n]*" error "${text}")
string(FIND "${error}" "${sentence}" at)
if(at EQUAL -1)
  message(FATAL_ERROR "expected: ${sentence}\nfirst ${error}\nall of it:\n${text}")
endif()
