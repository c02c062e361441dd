# The installation as a stranger's project meets it, and `unit_tests`: the target that builds the unit tests alone.

get_property(tests DIRECTORY PROPERTY TESTS)
add_custom_target(unit_tests)
foreach(test ${tests})
  get_test_property(${test} LABELS labels)
  if("unit" IN_LIST labels AND TARGET ${test})
    add_dependencies(unit_tests ${test})
  endif()
endforeach()

set(scripts ${CMAKE_CURRENT_SOURCE_DIR}/install)
add_test(NAME headers_alone COMMAND ${scripts}/headers.sh ${CMAKE_CXX_COMPILER} ${TESSERA_INCLUDE}
         ${PROJECT_SOURCE_DIR})
set_tests_properties(headers_alone PROPERTIES LABELS style PROCESSORS 2)
add_test(NAME style COMMAND ${scripts}/style.sh ${PROJECT_SOURCE_DIR})
set_tests_properties(style PROPERTIES LABELS style)

if(TESSERA_SANITIZE)
  return()
endif()
set(prefix ${CMAKE_CURRENT_BINARY_DIR}/install/prefix)
add_test(NAME install_tree COMMAND ${scripts}/tree.sh ${CMAKE_COMMAND} ${PROJECT_BINARY_DIR} ${prefix})
add_test(NAME install_headers COMMAND ${scripts}/headers.sh ${CMAKE_CXX_COMPILER} ${prefix}/${CMAKE_INSTALL_INCLUDEDIR})
find_program(CLANG NAMES clang++-14)
if(CLANG)
  add_test(NAME install_headers_clang COMMAND ${scripts}/headers.sh ${CLANG} ${prefix}/${CMAKE_INSTALL_INCLUDEDIR})
  set_tests_properties(install_headers_clang PROPERTIES LABELS install FIXTURES_REQUIRED installation)
endif()
add_test(NAME install_symbols COMMAND ${scripts}/symbols.sh ${prefix}/${CMAKE_INSTALL_LIBDIR})
add_test(NAME install_outside_project
         COMMAND ${CMAKE_CTEST_COMMAND} --build-and-test ${scripts}/outside ${CMAKE_CURRENT_BINARY_DIR}/install/outside
                 --build-generator ${CMAKE_GENERATOR}
                 --build-options -DCMAKE_PREFIX_PATH=${prefix} -DCMAKE_CXX_COMPILER=${CMAKE_CXX_COMPILER}
                 --test-command ${CMAKE_CURRENT_BINARY_DIR}/install/outside/outside)
set_tests_properties(install_tree PROPERTIES FIXTURES_SETUP installation)
set_tests_properties(install_headers install_symbols install_outside_project PROPERTIES FIXTURES_REQUIRED installation)
set_tests_properties(install_tree install_headers install_symbols install_outside_project PROPERTIES LABELS install)
