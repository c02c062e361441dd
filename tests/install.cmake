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
set(include ${prefix}/${CMAKE_INSTALL_INCLUDEDIR})
add_test(NAME install_tree COMMAND ${scripts}/tree.sh ${CMAKE_COMMAND} ${PROJECT_BINARY_DIR} ${prefix})
set_tests_properties(install_tree PROPERTIES LABELS install FIXTURES_SETUP installation)
add_test(NAME install_symbols COMMAND ${scripts}/symbols.sh ${prefix}/${CMAKE_INSTALL_LIBDIR})
set_tests_properties(install_symbols PROPERTIES LABELS install FIXTURES_REQUIRED installation)

# What is installed, used by one compiler: all headers at once, and a project of its own.
function(installation_test compiler_name compiler)
  set(build ${CMAKE_CURRENT_BINARY_DIR}/install/outside_${compiler_name})
  add_test(NAME install_headers_${compiler_name} COMMAND ${scripts}/installed_headers.sh ${compiler} ${include})
  add_test(NAME install_outside_${compiler_name}
           COMMAND ${CMAKE_CTEST_COMMAND} --build-and-test ${scripts}/outside ${build}
                   --build-generator ${CMAKE_GENERATOR}
                   --build-options -DCMAKE_PREFIX_PATH=${prefix} -DCMAKE_CXX_COMPILER=${compiler}
                   --test-command ${build}/outside)
  set_tests_properties(install_headers_${compiler_name} install_outside_${compiler_name}
                       PROPERTIES LABELS install FIXTURES_REQUIRED installation)
endfunction()
installation_test(gxx ${CMAKE_CXX_COMPILER})
if(TESSERA_CLANGXX)
  installation_test(clangxx ${TESSERA_CLANGXX})
endif()
